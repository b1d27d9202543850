package jsonstrict_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

var accepted = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `-0.0e-0`, `true`, `false`, `null`, " \t\r\n[ ] \n",
	`{"a":1,"A":2,"b":{"a":1},"c":[{"a":1},{"a":1}]}`,
	`{"":1," ":2}`,
	`"\"\\\/\b\f\n\r\t\u0000\u00e9\uFFFD"`,
	`"\ud83d\ude00 😀 é ` + "\u2028\x7f" + `"`,
	`9007199254740992`, `-9007199254740992`, `9007199254740992.000`, `9.007199254740992e15`, `9007199254740991.9999`,
	`900719925474099200e-2`, `0.9007199254740992E+16`, `0.00000009007199254740992e23`,
	`1e-400`, `0e999999999999999999999`, `0.000e99999`, `1e00000000000000000015`, `0.1234567890123456789012345678901234567890`,
	`1` + strings.Repeat("0", 100) + `e-100`, `0.` + strings.Repeat("0", 100) + `1e101`,
	strings.Repeat("[", 64) + strings.Repeat("]", 64),
	strings.Repeat(`{"a":`, 63) + "{}" + strings.Repeat("}", 63),
}

func TestAccepted(t *testing.T) {
	for _, doc := range accepted {
		if err := jsonstrict.Check([]byte(doc)); err != nil {
			t.Errorf("%.80s: %v", doc, err)
		}
	}
}

// refused lists documents that Check refuses, with the text of its error. fixed is the
// output of Normalize, or "" if Normalize refuses the document too.
var refused = []struct{ name, doc, err, fixed string }{
	{"empty", "", `byte 0: document is empty`, ""},
	{"white space", " \n ", `byte 3: document is empty`, ""},
	{"trailing value", `{} {}`, `byte 3: trailing data after the document`, ""},
	{"trailing brace", `[]]`, `byte 2: trailing data after the document`, ""},
	{"trailing NUL", "1\x00", `byte 1: trailing data after the document`, ""},
	{"not JSON", `hello`, `byte 0: expected a value, found 'h'`, ""},
	{"NUL", "\x00", `byte 0: expected a value, found byte 0x00`, ""},
	{"NaN", `[NaN]`, `byte 1: expected a value, found 'N'`, ""},
	{"wrong literal", `[nul]`, `byte 1: expected null`, ""},
	{"short literal", `tru`, `byte 0: expected true`, ""},
	{"single quotes", `{'a':1}`, `byte 1: expected a member name in quotes, found '''`, ""},
	{"comment", `[1,/**/2]`, `byte 3: expected a value, found '/'`, ""},
	{"form feed", "[\f]", `byte 1: expected a value, found byte 0x0c`, ""},
	{"no-break space", "[\u00a01]", `byte 1: expected a value, found byte 0xc2`, ""},
	{"unclosed object", `{`, `byte 1: document ends where a member name in quotes was expected`, ""},
	{"unclosed array", `[1`, `byte 2: document ends where ',' or ']' was expected`, ""},
	{"no value", `{"a":`, `byte 5: document ends where a value was expected`, ""},
	{"no colon", `{"a" 1}`, `byte 5: expected ':' after a member name, found '1'`, ""},
	{"comma at the end", `[1,]`, `byte 3: expected a value, found ']'`, ""},
	{"comma before a brace", `{"a":1,}`, `byte 7: expected a member name in quotes, found '}'`, ""},
	{"wrong closer", `[1}`, `byte 2: expected ',' or ']', found '}'`, ""},
	{"wrong closer of an object", `{"a":1]`, `byte 6: expected ',' or '}', found ']'`, ""},
	{"wrong closer of an empty array", `[}`, `byte 1: expected a value, found '}'`, ""},
	{"no comma", `[1 2]`, `byte 3: expected ',' or ']', found '2'`, ""},
	{"unclosed string", `["abc`, `byte 1: string without an end`, ""},
	{"string that ends in a backslash", `"abc\`, `byte 4: invalid escape in a string`, ""},
	{"unknown escape", `"ab\x"`, `byte 3: invalid escape in a string`, ""},
	{"short escape", `"\u12"`, `byte 1: invalid escape in a string`, ""},
	{"wrong hex digit", `"\u12G4"`, `byte 1: invalid escape in a string`, ""},
	{"65 levels", strings.Repeat("[", 65) + strings.Repeat("]", 65), `byte 64: nested deeper than 64 levels`, ""},
	{"plus sign", `+1`, `byte 0: expected a value, found '+'`, ""},
	{"bare minus", `[-]`, `byte 2: number without a digit`, ""},
	{"leading zero", `[01]`, `byte 1: number with a leading zero`, ""},
	{"leading point", `.5`, `byte 0: expected a value, found '.'`, ""},
	{"trailing point", `[1.]`, `byte 3: number without a digit after the decimal point`, ""},
	{"empty exponent", `[1e+]`, `byte 4: number without a digit in its exponent`, ""},
	{"hexadecimal", `0x10`, `byte 1: trailing data after the document`, ""},

	{"byte order mark", "\ufeff{}", `byte 0: byte order mark; JSON starts without one`, `{}`},
	{"invalid UTF-8", "{\"a\":\"x\xff\xfey\"}", `byte 7: invalid UTF-8`, "{\"a\":\"x\ufffd\ufffdy\"}"},
	{"truncated UTF-8", "\"\xe2\x82\"", `byte 1: invalid UTF-8`, "\"\ufffd\ufffd\""},
	{"overlong UTF-8", "\"\xc0\xaf\"", `byte 1: invalid UTF-8`, "\"\ufffd\ufffd\""},
	{"surrogate in UTF-8", "\"\xed\xa0\x80\"", `byte 1: invalid UTF-8`, "\"\ufffd\ufffd\ufffd\""},
	{"high surrogate alone", `"ab\ud800"`, `byte 3: lone surrogate escape; surrogates come in pairs, high before low`, "\"ab\ufffd\""},
	{"low surrogate alone", `"\uDC00x"`, `byte 1: lone surrogate escape; surrogates come in pairs, high before low`, "\"\ufffdx\""},
	{"surrogates in the wrong order", `"\ude00\ud83d"`, `byte 1: lone surrogate escape; surrogates come in pairs, high before low`, "\"\ufffd\ufffd\""},
	{"high surrogate before a pair", `"\ud83d\ud83d\ude00"`, `byte 1: lone surrogate escape; surrogates come in pairs, high before low`, "\"\ufffd\\ud83d\\ude00\""},
	{"high surrogate before a letter", `"\ud83d\u0041"`, `byte 1: lone surrogate escape; surrogates come in pairs, high before low`, "\"\ufffd\\u0041\""},
	{"control character", "\"a\x01b\"", `byte 2: control character 0x01 in a string; write it as an escape`, `"a\u0001b"`},
	{"line break", "\"a\r\n\tb\"", `byte 2: control character 0x0d in a string; write it as an escape`, `"a\r\n\tb"`},
	{"2^53+1", `[9007199254740993]`, `byte 1: number beyond ±2^53; write it as a string`, `["9007199254740993"]`},
	{"-2^53-1", `[-9007199254740993]`, `byte 1: number beyond ±2^53; write it as a string`, `["-9007199254740993"]`},
	{"2^53 and a bit", `9007199254740992.0000000000000000001`, `byte 0: number beyond ±2^53; write it as a string`, `"9007199254740992.0000000000000000001"`},
	{"2^53 by exponent", `9.007199254740993e+15`, `byte 0: number beyond ±2^53; write it as a string`, `"9.007199254740993e+15"`},
	{"17 digits", `10000000000000000`, `byte 0: number beyond ±2^53; write it as a string`, `"10000000000000000"`},
	{"1e400", `{"n": 1e400 }`, `byte 6: number beyond ±2^53; write it as a string`, `{"n": "1e400" }`},
	{"huge exponent", `1e99999999999999999999`, `byte 0: number beyond ±2^53; write it as a string`, `"1e99999999999999999999"`},
	{"many zeros", `0.` + strings.Repeat("0", 50) + `1E68`, `byte 0: number beyond ±2^53; write it as a string`, `"0.` + strings.Repeat("0", 50) + `1E68"`},
	{"duplicate", `{"a":1,"b":2,"a":3}`, `byte 13: duplicate member "a"`, `{"b":2,"a":3}`},
	{"duplicates in a row", `{ "a":1 , "a":2 , "a":3 }`, `byte 10: duplicate member "a"`, `{ "a":3 }`},
	{"duplicate with an escape", `{"a\n":1,"\u0061\u000a":2}`, `byte 9: duplicate member "a\n"`, `{"\u0061\u000a":2}`},
	{"duplicate empty name", `{"":1,"":2}`, `byte 6: duplicate member ""`, `{"":2}`},
	{"duplicate in an inner object", `[{"x":{"é":[1],"\u00e9":{}}}]`, `byte 16: duplicate member "é"`, `[{"x":{"\u00e9":{}}}]`},
	{"duplicate by repair", "{\"\xff\":1,\"\\ud800\":[2],\"\ufffd\" :3}", `byte 2: invalid UTF-8`, "{\"\ufffd\" :3}"},
	{"duplicate inside a duplicate", `{"a":{"b":1,"b":2},"a":{"b":3,"b":4}}`, `byte 12: duplicate member "b"`, `{"a":{"b":4}}`},
	{"long duplicate", `{"` + strings.Repeat("é", 40) + `":1,"` + strings.Repeat("é", 40) + `":2}`, `byte 86: duplicate member "` + strings.Repeat("é", 32) + `"…`, `{"` + strings.Repeat("é", 40) + `":2}`},
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			err := jsonstrict.Check([]byte(c.doc))
			var e *jsonstrict.Error
			if !errors.As(err, &e) {
				t.Fatalf("Check: %v, want an *Error", err)
			}
			if err.Error() != c.err {
				t.Errorf("got  %s\nwant %s", err, c.err)
			}
			if !errors.Is(err, abi.InvalidArgs) || errors.Is(err, abi.NotFound) {
				t.Error("the error must match abi.InvalidArgs and no other code")
			}
		})
	}
}

func TestCheckDepth(t *testing.T) {
	for _, c := range []struct {
		levels, depth int
		ok            bool
	}{{0, 0, true}, {0, 1, false}, {3, 3, true}, {3, 4, false}, {64, 64, true}, {1000, 64, true}, {1000, 65, false}, {-1, 1, false}} {
		doc := strings.Repeat("[", c.depth) + "1"[:1-min(c.depth, 1)] + strings.Repeat("]", c.depth)
		if err := jsonstrict.CheckDepth([]byte(doc), c.levels); (err == nil) != c.ok {
			t.Errorf("depth %d, %d levels allowed: %v", c.depth, c.levels, err)
		}
	}
}

// TestEveryPosition puts every byte at every position of a string, because the scanner
// reads eight bytes at a time.
func TestEveryPosition(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				s := []byte(strings.Repeat("a", length))
				s[at] = byte(c)
				doc := append(append([]byte{'"'}, s...), '"')
				ok := c >= 0x20 && c < 0x80 && c != '"' && c != '\\'
				if err := jsonstrict.Check(doc); (err == nil) != ok {
					t.Fatalf("%q: %v", doc, err)
				}
			}
		}
	}
}

// TestManyMembers covers objects large enough to have their names sorted: n names in
// random order, unique and with one duplicate.
func TestManyMembers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 31, 32, 33, 34, 65, 1000, 200_000} {
		order := random.Perm(n)
		doc := []byte(`[{"x":`)
		doc = append(doc, members(order)...)
		doc = append(doc, `,"y":1}]`...)
		if err := jsonstrict.Check(doc); err != nil {
			t.Fatalf("%d members: %v", n, err)
		}
		first, second := random.IntN(n-1), n-1
		order[second] = order[first]
		twice := members(order)
		at := strings.LastIndex(string(twice), `"`+strconv.Itoa(order[first])+`"`)
		want := "byte " + strconv.Itoa(at) + `: duplicate member "` + strconv.Itoa(order[first]) + `"`
		if err := jsonstrict.Check(twice); err == nil || err.Error() != want {
			t.Errorf("%d members: got %v, want %s", n, err, want)
		}
		got, report, err := jsonstrict.Normalize(nil, twice)
		if err != nil || report != (jsonstrict.Report{Duplicates: 1}) {
			t.Fatalf("%d members: %v %v", n, report, err)
		}
		if want := members(append(order[:first:first], order[first+1:]...)); string(got) != string(want) {
			t.Errorf("%d members: Normalize dropped the wrong one", n)
		}
	}
}

// members returns an object with the numbers as names.
func members(names []int) []byte {
	doc := []byte{'{'}
	for i, n := range names {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = strconv.AppendInt(append(doc, '"'), int64(n), 10)
		doc = append(doc, `":0`...)
	}
	return append(doc, '}')
}

func TestAllocations(t *testing.T) {
	doc := []byte(`{"op":"list","scope":{"agents":["main"],"keys":["a","b"]},"n":[1,2.5,-3e2,true,null],"text":"é\n\ud83d\ude00"}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := jsonstrict.Check(doc); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("Check allocates %v times", n)
	}
	dst := make([]byte, 0, len(doc))
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := jsonstrict.Normalize(dst, doc); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("Normalize allocates %v times", n)
	}
}
