package jsonappend_test

import (
	"encoding/json"
	"testing"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

func TestObject(t *testing.T) {
	o := jsonappend.Open([]byte("x="))
	o.String("s", "a\"b\\c\n\r\t\x01é😀")
	o.Int("i", -5)
	o.Bool("b", false)
	o.Raw("r", []byte(`[1]`))
	o.Strings("empty", nil)
	o.Strings("two", []string{"a", "b"})
	o.OptString("s0", "")
	o.OptInt("i0", 0)
	o.OptBool("b0", false)
	o.OptRaw("r0", nil)
	o.OptStrings("l0", nil)
	o.OptString("s1", "v")
	o.OptInt("i1", 1)
	o.OptBool("b1", true)
	o.OptRaw("r1", []byte("null"))
	o.OptStrings("l1", []string{})
	n := jsonappend.Open(o.Key("n"))
	o.Value(n.Close())
	want := `x={"s":"a\"b\\c\n\r\t\u0001é😀","i":-5,"b":false,"r":[1],"empty":[],"two":["a","b"],` +
		`"s1":"v","i1":1,"b1":true,"r1":null,"l1":[],"n":{}}`
	if got := string(o.Close()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzString decodes the output with the standard library, which must return the same
// text, with U+FFFD for every byte that is not valid UTF-8.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\x1f\x7f", "\xff\xc0\xaf", "\u2028<&>", "\xed\xa0\x80", "a\xe2\x82"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(jsonappend.String(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q decodes as %q, want %q", s, got, want)
		}
	})
}
