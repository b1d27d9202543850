package jsonread

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	r := New(` { "a" : 1 , "b":[ "x" , "y\n\u00e9\ud83d\ude00" , {"q":"]}"} ], "\u0063":true, "d":-2.9, "e":null, "f":1e3 } `)
	var names, texts []string
	var a, d, f int64
	var c bool
	if !r.Object() {
		t.Fatal("Object() = false")
	}
	for r.Member() {
		names = append(names, r.Name())
		switch r.Name() {
		case "a":
			a = r.Int()
		case "b":
			if !r.Array() {
				t.Fatal("Array() = false")
			}
			for r.Element() {
				texts = append(texts, r.Text())
			}
		case "c":
			c = r.Bool()
		case "d":
			d = r.Int()
		case "f":
			f = r.Int()
		default:
			if raw := r.Skip(); raw != "null" {
				t.Errorf("Skip() = %q", raw)
			}
		}
	}
	if got := strings.Join(names, " "); got != "a b c d e f" {
		t.Errorf("names = %s", got)
	}
	if got := strings.Join(texts, "|"); got != "x|y\né😀|" {
		t.Errorf("texts = %q", got)
	}
	if a != 1 || d != -2 || f != 1000 || !c || !r.OK() || r.Peek() != 0 {
		t.Errorf("a, d, f, c, ok = %d, %d, %d, %v, %v", a, d, f, c, r.OK())
	}
}

func TestOtherTypes(t *testing.T) {
	r := New(`[1,"x",{"a":[]},true]`)
	r.Array()
	if r.Element() && r.Text() != "" {
		t.Error("Text of a number")
	}
	if r.Element() && r.Int() != 0 {
		t.Error("Int of a string")
	}
	if r.Element() && r.Array() {
		t.Error("Array of an object")
	}
	if r.Element() && r.Object() {
		t.Error("Object of a boolean")
	}
	if r.Element() || !r.OK() {
		t.Error("not at the end")
	}
}

func TestMalformed(t *testing.T) {
	for _, doc := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":}`, `{"a" 1}`, `[1`, `[}`, `{]`, `"abc`, `"abc\`, `{"a":1 "b"`, `{1:2}`, `[[[`} {
		r := New(doc)
		walk(&r, 0)
		if r.OK() {
			t.Errorf("%q read without complaint", doc)
		}
	}
}

func walk(r *Reader, depth int) {
	if depth > 100 {
		r.Skip()
		return
	}
	switch r.Peek() {
	case '{':
		r.Object()
		for r.Member() {
			walk(r, depth+1)
		}
	case '[':
		r.Array()
		for r.Element() {
			walk(r, depth+1)
		}
	case '"':
		r.Text()
	default:
		r.Skip()
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`\"\\\/\b\f\n\r\t`: "\"\\/\b\f\n\r\t",
		`\u0041z`:          "Az",
		`\ud83d\ude00`:     "😀",
		`\ud83dx`:          "\uFFFDx",
		`\ude00\u0041`:     "\uFFFDA",
		`\ud83d\u0041`:     "\uFFFDA",
		`\u00`:             "\uFFFD00",
		`\x`:               "\uFFFD",
		`a\`:               "a\uFFFD",
		``:                 "",
	} {
		if got := string(Unescape(nil, in)); got != want {
			t.Errorf("Unescape(%q) = %q; want %q", in, got, want)
		}
	}
}

// Valid documents are read to their end; no document makes the reader panic.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\u00e9",{}],"b":null}`, `"x"`, `[[]]`, `{"a":`, `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		r := New(doc)
		walk(&r, 0)
		if !json.Valid([]byte(doc)) {
			return
		}
		if !r.OK() || r.Peek() != 0 {
			t.Fatalf("%q is JSON, but was not read to its end", doc)
		}
		var s string
		if json.Unmarshal([]byte(doc), &s) == nil && doc != "null" {
			r = New(doc)
			if got := r.Text(); got != strings.ToValidUTF8(s, "\uFFFD") && strings.ToValidUTF8(doc, "") == doc {
				t.Fatalf("Text(%q) = %q; want %q", doc, got, s)
			}
		}
	})
}
