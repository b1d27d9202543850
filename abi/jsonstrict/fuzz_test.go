package jsonstrict_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi/jsonstrict"
)

func addSeeds(f *testing.F) {
	for _, doc := range accepted {
		f.Add([]byte(doc))
	}
	for _, c := range refused {
		f.Add([]byte(c.doc))
	}
}

// FuzzCheck compares Check with a slow oracle built on encoding/json.
func FuzzCheck(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		err, want := jsonstrict.Check(doc), oracle(doc)
		if (err == nil) != (want == nil) {
			t.Fatalf("%q:\nCheck:  %v\noracle: %v", doc, err, want)
		}
		var e *jsonstrict.Error
		if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(doc) || !utf8.ValidString(e.Reason)) {
			t.Fatalf("%q: %#v", doc, err)
		}
	})
}

// FuzzNormalize checks that the output passes Check, is stable, and decodes to the same
// value as the input.
func FuzzNormalize(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, report, err := jsonstrict.Normalize(nil, doc)
		if err != nil {
			if json.Valid(doc) && depth(doc) <= 64 {
				t.Fatalf("%q: refused: %v", doc, err)
			}
			return
		}
		if err := jsonstrict.Check(out); err != nil {
			t.Fatalf("Normalize(%q) = %q: %v", doc, out, err)
		}
		again, none, err := jsonstrict.Normalize(nil, out)
		if err != nil || !none.IsZero() || !bytes.Equal(again, out) {
			t.Fatalf("%q is not stable: %q, %v, %v", out, again, none, err)
		}
		if report.IsZero() != bytes.Equal(doc, out) || report.IsZero() != (jsonstrict.Check(doc) == nil) {
			t.Fatalf("Normalize(%q) = %q, report %v", doc, out, report)
		}
		if before, ok := decode(doc); ok {
			if after, _ := decode(out); !reflect.DeepEqual(before, after) {
				t.Fatalf("Normalize(%q) = %q, which decodes to %v, want %v", doc, out, after, before)
			}
		}
	})
}

// oracle implements Check independently.
func oracle(doc []byte) error {
	switch {
	case !json.Valid(doc):
		return errors.New("not JSON")
	case !utf8.Valid(doc):
		return errors.New("not UTF-8")
	case loneSurrogate(doc):
		return errors.New("lone surrogate")
	case depth(doc) > 64:
		return errors.New("too deep")
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return value(d)
}

func value(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			if err := value(d); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case json.Delim('{'):
		seen := map[any]bool{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if seen[name] {
				return errors.New("duplicate member")
			}
			seen[name] = true
			if err := value(d); err != nil {
				return err
			}
		}
		_, err = d.Token()
	default:
		if n, ok := token.(json.Number); ok && outside(string(n)) {
			return errors.New("number out of range")
		}
	}
	return err
}

var escapes = regexp.MustCompile(`(?i)\\u([0-9a-f]{4})(?:\\u([0-9a-f]{4}))?|\\.`)

// loneSurrogate reports whether valid JSON has an escape that is half a surrogate pair.
func loneSurrogate(doc []byte) bool {
	high := regexp.MustCompile(`(?i)^d[89ab]`)
	low := regexp.MustCompile(`(?i)^d[c-f]`)
	for len(doc) > 0 {
		m := escapes.FindSubmatchIndex(doc)
		if m == nil {
			return false
		}
		next := m[1]
		if m[2] >= 0 {
			first := doc[m[2]:m[3]]
			switch {
			case low.Match(first):
				return true
			case high.Match(first):
				if m[4] < 0 || !low.Match(doc[m[4]:m[5]]) {
					return true
				}
			default:
				next = m[3] // the second escape may start another pair
			}
		}
		doc = doc[next:]
	}
	return false
}

// depth returns the nesting depth of doc, which must be valid JSON.
func depth(doc []byte) int {
	level, deepest, text := 0, 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '[' || c == '{':
			level++
			deepest = max(deepest, level)
		case c == ']' || c == '}':
			level--
		}
	}
	return deepest
}

// outside reports whether the magnitude of number, rounded away from zero, exceeds
// 2^53.
func outside(number string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return false
	}
	if digits := strings.TrimLeft(exponent, "+-0"); len(digits) > 6 {
		return exponent[0] != '-' // no fuzzed mantissa has a million digits
	}
	v, _, err := big.ParseFloat(number, 10, uint(64+4*len(number)), big.AwayFromZero)
	if err != nil {
		panic(err)
	}
	return v.Abs(v).Cmp(big.NewFloat(1<<53)) > 0
}

// decode decodes doc with encoding/json, which repairs strings and keeps the last
// duplicate, as Normalize does. It converts numbers out of range to strings.
func decode(doc []byte) (any, bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if !json.Valid(doc) || d.Decode(&v) != nil {
		return nil, false
	}
	return numbersToStrings(v), true
}

func numbersToStrings(v any) any {
	switch v := v.(type) {
	case json.Number:
		if outside(string(v)) {
			return string(v)
		}
	case []any:
		for i := range v {
			v[i] = numbersToStrings(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbersToStrings(v[k])
		}
	}
	return v
}
