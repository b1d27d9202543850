package jsonstrict_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/jsonstrict"
)

func TestNormalizeUnchanged(t *testing.T) {
	for _, doc := range accepted {
		got, report, err := jsonstrict.Normalize([]byte("before"), []byte(doc))
		if err != nil || !report.IsZero() || string(got) != "before"+doc {
			t.Errorf("%.80s: got %.80s, %v, %v", doc, got, report, err)
		}
	}
}

func TestNormalizeRepairs(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			for _, dst := range [][]byte{nil, []byte("before"), append(make([]byte, 0, 1<<12), "before"...)} {
				got, report, err := jsonstrict.Normalize(dst, []byte(c.doc))
				if c.fixed == "" {
					if err == nil || string(got) != string(dst) || !report.IsZero() {
						t.Errorf("got %s, %v, %v, want an error and dst unchanged", got, report, err)
					}
					continue
				}
				if err != nil || report.IsZero() {
					t.Fatalf("%v, %v", report, err)
				}
				if string(got) != string(dst)+c.fixed {
					t.Errorf("got  %s\nwant %s%s", got, dst, c.fixed)
				}
			}
		})
	}
}

func TestNormalizeCounts(t *testing.T) {
	doc := "\ufeff{\"a\xff\xfe\":\"\\ud800\\udc00\\udc00\x00\n\\ud800\",\"n\":[1e16,-1e400],\"n\":1,\"o\":{\"p\":1,\"p\":2},\"n\":1e99}"
	got, report, err := jsonstrict.Normalize(nil, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\ufffd\ufffd\":\"\\ud800\\udc00\ufffd\\u0000\\n\ufffd\",\"o\":{\"p\":2},\"n\":\"1e99\"}"; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want := jsonstrict.Report{UTF8: 2, Surrogates: 2, Controls: 2, Numbers: 3, Duplicates: 3, ByteOrderMarks: 1}
	if report != want {
		t.Errorf("got %+v, want %+v", report, want)
	}
	text := "2 invalid UTF-8 bytes, 2 lone surrogates, 2 raw control characters, 3 numbers beyond ±2^53, 3 duplicate members, 1 byte order mark"
	if report.String() != text {
		t.Errorf("got %s", report)
	}
	report.Add(report)
	if want := (jsonstrict.Report{UTF8: 4, Surrogates: 4, Controls: 4, Numbers: 6, Duplicates: 6, ByteOrderMarks: 2}); report != want {
		t.Errorf("Add: %+v, want %+v", report, want)
	}
	if (jsonstrict.Report{}).String() != "none" {
		t.Errorf("the zero Report prints %s, want none", jsonstrict.Report{})
	}
}

func TestNormalizeDepth(t *testing.T) {
	doc := []byte("[[\"\xff\"]]")
	if _, _, err := jsonstrict.NormalizeDepth(nil, doc, 1); err == nil || err.Error() != "byte 1: nested deeper than 1 levels" {
		t.Error(err)
	}
	if got, _, err := jsonstrict.NormalizeDepth(nil, doc, 2); err != nil || string(got) != "[[\"\ufffd\"]]" {
		t.Error(string(got), err)
	}
}

// TestNormalizeDeepDuplicates repairs 63 nested objects, each of which has a duplicate
// after the inner one.
func TestNormalizeDeepDuplicates(t *testing.T) {
	doc, want := "{}", "{}"
	for range 63 {
		doc = `{"x":0,"a":` + doc + `, "x":1}`
		want = `{"a":` + want + `, "x":1}`
	}
	got, report, err := jsonstrict.Normalize(nil, []byte(doc))
	if err != nil || string(got) != want || report.Duplicates != 63 {
		t.Errorf("%v %v\n%s", report, err, got)
	}
}

// TestNormalizeManyDuplicates repairs an object with many members and two names.
func TestNormalizeManyDuplicates(t *testing.T) {
	const n = 100_000
	doc := "{" + strings.Repeat(`"a":1,"b":2,`, n/2) + `"a":3}`
	got, report, err := jsonstrict.Normalize(nil, []byte(doc))
	if err != nil || string(got) != `{"b":2,"a":3}` || report.Duplicates != n-1 {
		t.Errorf("%.100s %v %v", got, report, err)
	}
}
