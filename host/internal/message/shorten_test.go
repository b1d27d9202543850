package message

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

const kib = 1 << 10

func TestShorten(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name, doc, want string
		truncated       []abi.Truncation
	}{
		{"small", `{"role":"user"}`, `{"role":"user"}`, nil},
		{"at the bound, not scanned", `{"a":"` + text(64*kib-8) + `"}`, `{"a":"` + text(64*kib-8) + `"}`, nil},
		{"string of 64 KiB", `{"a":"` + text(64*kib) + `"}`, `{"a":"` + text(64*kib) + `"}`, nil},
		{"one byte more", `{"a":"` + text(64*kib+1) + `"}`, `{"a":"` + text(64*kib) + `"}`, []abi.Truncation{{Path: "/a", Bytes: 64*kib + 1}}},
		{"rune across the limit", `{"a":"` + text(64*kib-2) + `€x"}`, `{"a":"` + text(64*kib-2) + `"}`, []abi.Truncation{{Path: "/a", Bytes: 64*kib + 2}}},
		{"rune up to the limit", `{"a":"` + text(64*kib-3) + `€x"}`, `{"a":"` + text(64*kib-3) + `€"}`, []abi.Truncation{{Path: "/a", Bytes: 64*kib + 1}}},
		{"pair across the limit", `{"a":"` + text(64*kib-3) + `\ud83d\ude00"}`, `{"a":"` + text(64*kib-3) + `"}`, []abi.Truncation{{Path: "/a", Bytes: 64*kib + 1}}},
		{"pair up to the limit", `{"a":"` + text(64*kib-4) + `\ud83d\ude00\n"}`, `{"a":"` + text(64*kib-4) + `\ud83d\ude00"}`, []abi.Truncation{{Path: "/a", Bytes: 64*kib + 1}}},
		{"escapes that decode to 64 KiB", `{"a":"` + strings.Repeat(`\u00e9`, 32*kib) + `"}`, `{"a":"` + strings.Repeat(`\u00e9`, 32*kib) + `"}`, nil},
		{"escapes", `{"a":"` + strings.Repeat(`\"`, 64*kib) + `\\"}`, `{"a":"` + strings.Repeat(`\"`, 64*kib) + `"}`, []abi.Truncation{{Path: "/a", Bytes: 64*kib + 1}}},
		{"escapes of one, two and three bytes", `{"a":"` + strings.Repeat(`\u0001\u07ff\u0800`, 12*kib) + `"}`,
			`{"a":"` + strings.Repeat(`\u0001\u07ff\u0800`, 64*kib/6) + `\u0001\u07ff"}`, []abi.Truncation{{Path: "/a", Bytes: 72 * kib}}},
		{"paths", `{"role":"user","a/b~c":[0,{"x":1,"\u0022":["",{},[],"` + text(65*kib) + `",2]}],"z":"` + text(66*kib) + `"}`,
			`{"role":"user","a/b~c":[0,{"x":1,"\u0022":["",{},[],"` + text(64*kib) + `",2]}],"z":"` + text(64*kib) + `"}`,
			[]abi.Truncation{{Path: `/a~1b~0c/1/"/3`, Bytes: 65 * kib}, {Path: "/z", Bytes: 66 * kib}}},
		{"twenty strings", `{"a":[` + strings.Repeat(`"`+text(70*kib)+`",`, 20) + `""]}`, `{"a":[` + strings.Repeat(`"`+text(16*kib)+`",`, 20) + `""]}`,
			expectedTruncations("/a/", 20, 70*kib)},
		{"a hundred strings", `{"a":[` + strings.Repeat(`"`+text(17*kib)+`",`, 100) + `""]}`, `{"a":[` + strings.Repeat(`"`+text(4*kib)+`",`, 100) + `""]}`,
			expectedTruncations("/a/", 100, 17*kib)},
		{"many values", `{"role":"tool","a":[` + strings.Repeat(`12345678,`, 200*kib) + `0],"timestamp":1767225600000}`,
			`{"role":"tool","timestamp":1767225600000}`, []abi.Truncation{{Bytes: 200*kib*9 + 49}}},
		{"long name", `{"` + text(2048*kib) + `":"","timestamp":"2026-01-01T00:00:00Z"}`,
			`{"timestamp":"2026-01-01T00:00:00Z"}`, []abi.Truncation{{Bytes: 2048*kib + 42}}},
		{"long role", `{"role":"` + text(200) + `","timestamp":{},"a":[` + strings.Repeat(`0,`, 1024*kib) + `0]}`,
			`{}`, []abi.Truncation{{Bytes: 2048*kib + 234}}},
		// The paths of the truncations count too: here they would take 250 times 8 KiB.
		{"long paths", `{"` + text(8*kib) + `":[` + strings.Repeat(`"`+text(70*kib)+`",`, 250) + `0]}`,
			`{}`, []abi.Truncation{{Bytes: 8*kib + 250*(70*kib+3) + 8}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			short, truncated := Shorten([]byte(c.doc))
			if string(short) != c.want {
				t.Errorf("got  %s\nwant %s", abbreviate(short), abbreviate([]byte(c.want)))
			}
			if diff := cmp.Diff(c.truncated, truncated); diff != "" {
				t.Errorf("truncations (-want +got):\n%s", diff)
			}
		})
	}
}

func expectedTruncations(prefix string, n int, size int64) []abi.Truncation {
	var list []abi.Truncation
	for i := range n {
		list = append(list, abi.Truncation{Path: prefix + strconv.Itoa(i), Bytes: size})
	}
	return list
}

func abbreviate(doc []byte) string {
	if len(doc) <= 200 {
		return string(doc)
	}
	return string(doc[:100]) + "…" + string(doc[len(doc)-100:]) + " (" + strconv.Itoa(len(doc)) + " bytes)"
}

// TestShortenBroken passes invalid messages to Shorten. Shorten must end and, if it
// truncates, return strict JSON.
func TestShortenBroken(t *testing.T) {
	filler := strings.Repeat("x", 70*kib)
	for _, doc := range []string{
		`"` + filler, filler, `{"role":"` + filler, `}` + filler, `[` + filler, `{"a":"` + filler + `\"`, `{"role":"u` + "\xff" + `","a":"` + filler,
		strings.Repeat("[", 70*kib), strings.Repeat("]", 70*kib), strings.Repeat(`{"a":`, 70*kib), strings.Repeat(`\`, 70*kib), `:,` + filler + `"`,
	} {
		short, truncated := Shorten([]byte(doc))
		if len(truncated) != 0 && jsonstrict.Check(short) != nil {
			t.Errorf("%s became %s", abbreviate([]byte(doc)), abbreviate(short))
		}
	}
}

// smallBounds are bounds that small documents exceed.
var smallBounds = bounds{whole: 20, strings: []int{16, 8, 4}, message: 120}

// value generates JSON with many kinds of strings.
func value(depth int) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		kinds := 3
		if depth > 0 {
			kinds = 5
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return []byte(rapid.SampledFrom([]string{"0", "-1.5e3", "true", "false", "null", `{}`, `[]`}).Draw(t, "literal"))
		case 1, 2, 3:
			return text(t)
		case 4:
			list := rapid.SliceOfN(value(depth-1), 0, 5).Draw(t, "elements")
			return append(append([]byte{'['}, bytes.Join(list, []byte(" , "))...), ']')
		}
		return object(t, depth)
	})
}

func object(t *rapid.T, depth int) []byte {
	doc := []byte{'{'}
	for i, v := range rapid.SliceOfN(value(depth-1), 0, 5).Draw(t, "values") {
		if i > 0 {
			doc = append(doc, ", "...)
		}
		name := strconv.Itoa(i) + rapid.SampledFrom([]string{"", "~1/", "role", "é\"", strings.Repeat("n", 30)}).Draw(t, "name")
		doc = append(append(jsonappend.String(doc, name), ": "...), v...)
	}
	return append(doc, '}')
}

func text(t *rapid.T) []byte {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "word ", "é", "€", "😀", `\n`, `\"`, `\\`, `\/`, `\u0041`, `\u00e9`, `\u20ac`, `\ud83d\ude00`, `\u0000`,
	}), 0, 30).Draw(t, "text")
	return []byte(`"` + strings.Join(parts, "") + `"`)
}

func TestShortenProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := object(t, 4)
		if err := jsonstrict.Check(doc); err != nil {
			t.Fatalf("generated %s: %v", doc, err)
		}
		checkShortened(t, &smallBounds, doc)
	})
}

func FuzzShorten(f *testing.F) {
	for _, doc := range []string{
		`{"role":"user","content":"` + strings.Repeat(`é\ud83d\ude00`, 9) + `"}`,
		`{"a/b":[1,{"~":["0123456789abcdefghij"]},"0123456789"],"timestamp":5}`,
		`{"role":"tool","a":[` + strings.Repeat("0,", 100) + `0]}`,
		`{"` + strings.Repeat("n", 200) + `":1}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		smallBounds.shorten(raw) // must end for any input
		if doc, _, err := Normalize(raw); err == nil {
			checkShortened(t, &smallBounds, doc)
		}
	})
}

// fataler is implemented by *testing.T and *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

// checkShortened shortens doc and compares the result with the decoded document.
func checkShortened(t fataler, b *bounds, doc []byte) {
	short, truncated := b.shorten(doc)
	if err := jsonstrict.Check(short); err != nil {
		t.Fatalf("%s became %s: %v", doc, short, err)
	}
	if len(truncated) == 0 {
		if !bytes.Equal(short, doc) || len(doc) > max(b.whole, b.message) {
			t.Fatalf("%s became %s without a truncation", doc, short)
		}
		if len(doc) > b.whole {
			checkLongest(t, decode(t, doc), b.strings[0])
		}
		return
	}
	if truncated[0].Path == "" {
		checkStripped(t, doc, short, truncated)
		return
	}
	m := abi.Message{JSON: short, Truncations: truncated}
	bare := abi.Message{JSON: []byte{}}
	if n := len(m.AppendJSON(nil)) - len(bare.AppendJSON(nil)); n > b.message {
		t.Fatalf("%s became %s with %d truncations, %d bytes", doc, short, len(truncated), n)
	}
	before, after := decode(t, doc), decode(t, short)
	checkLongest(t, after, b.strings[0])
	for _, c := range truncated {
		whole, ok := resolve(before, c.Path).(string)
		part, ok2 := resolve(after, c.Path).(string)
		if !ok || !ok2 || !strings.HasPrefix(whole, part) || int64(len(whole)) != c.Bytes || !utf8.ValidString(part) {
			t.Fatalf("%s became %s: truncated %+v of %q gave %q", doc, short, c, whole, part)
		}
		kept := false // part is the longest prefix within one of the limits
		for _, limit := range b.strings {
			_, next := utf8.DecodeRuneInString(whole[len(part):])
			kept = kept || len(part) <= limit && len(part)+next > limit && len(whole) > limit
		}
		if !kept {
			t.Fatalf("%q was truncated to %q", whole, part)
		}
		set(before, c.Path, part) // so that only other values can differ
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatalf("%s became %s:\n%s", doc, short, diff)
	}
}

func checkStripped(t fataler, doc, short []byte, truncated []abi.Truncation) {
	if len(truncated) != 1 || truncated[0].Bytes != int64(len(doc)) {
		t.Fatalf("%s: %+v", doc, truncated)
	}
	before := decode(t, doc).(map[string]any)
	for name, v := range decode(t, short).(map[string]any) {
		if name != "role" && name != "timestamp" || !cmp.Equal(v, before[name]) {
			t.Fatalf("%s became %s", doc, short)
		}
	}
}

func decode(t fataler, doc []byte) any {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return v
}

// checkLongest fails if v has a string value over limit.
func checkLongest(t fataler, v any, limit int) {
	switch v := v.(type) {
	case string:
		if len(v) > limit {
			t.Fatalf("%q is over %d bytes", v, limit)
		}
	case []any:
		for _, e := range v {
			checkLongest(t, e, limit)
		}
	case map[string]any:
		for _, e := range v {
			checkLongest(t, e, limit)
		}
	}
}

func tokens(path string) []string {
	list := strings.Split(path, "/")[1:]
	for i := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(list[i], "~1", "/"), "~0", "~")
	}
	return list
}

func resolve(v any, path string) any {
	for _, token := range tokens(path) {
		switch at := v.(type) {
		case map[string]any:
			v = at[token]
		case []any:
			i, _ := strconv.Atoi(token)
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func set(v any, path, text string) {
	slash := strings.LastIndexByte(path, '/')
	last := tokens(path[slash:])[0]
	if slash > 0 {
		v = resolve(v, path[:slash])
	}
	switch at := v.(type) {
	case map[string]any:
		at[last] = text
	case []any:
		i, _ := strconv.Atoi(last)
		at[i] = text
	}
}
