package jsonobject_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

type inner struct{ id string }

var innerMembers = jsonobject.New(
	jsonobject.Required("id", jsonobject.Name, func(i *inner) any { return &i.id }),
)

func (i *inner) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return innerMembers.Read(v, i, mode)
}

func (i *inner) AppendJSON(b []byte) []byte { return innerMembers.Append(b, i) }

type outer struct {
	text  string
	small int
	big   int64
	yes   bool
	count *int64
	flag  *bool
	cost  *float64
	raw   []byte
	names []string
	one   *inner
	many  []inner
}

var outerMembers = jsonobject.New(
	jsonobject.Optional("text", jsonobject.Text, func(o *outer) any { return &o.text }),
	jsonobject.Always("small", jsonobject.Range{Low: -1, High: 9}, func(o *outer) any { return &o.small }),
	jsonobject.Required("big", jsonobject.Whole, func(o *outer) any { return &o.big }),
	jsonobject.Optional("yes", jsonobject.Flag, func(o *outer) any { return &o.yes }),
	jsonobject.Optional("count", jsonobject.Whole, func(o *outer) any { return &o.count }),
	jsonobject.Optional("flag", jsonobject.Flag, func(o *outer) any { return &o.flag }),
	jsonobject.Optional("cost", jsonobject.Number, func(o *outer) any { return &o.cost }),
	jsonobject.Optional("raw", jsonobject.Any, func(o *outer) any { return &o.raw }),
	jsonobject.Optional("names", jsonobject.Texts, func(o *outer) any { return &o.names }),
	jsonobject.Optional("one", jsonobject.Object, func(o *outer) any { return jsonobject.Maybe(&o.one) }),
	jsonobject.Optional("many", jsonobject.List, func(o *outer) any { return jsonobject.Items(&o.many) }),
)

const full = `{"text":"t","small":-1,"big":9007199254740992,"yes":true,"count":0,"flag":false,"cost":0.5,"raw":[1, 2],` +
	`"names":["a",""],"one":{"id":"x"},"many":[{"id":"y"},{"id":"z"}]}`

func read(doc string, mode jsonobject.Mode) (*outer, *jsonobject.Problem) {
	o := &outer{}
	p := outerMembers.Read(gjson.Parse(doc), o, mode)
	return o, p
}

func TestRoundTrip(t *testing.T) {
	for _, doc := range []string{full, `{"small":0,"big":0}`} {
		for _, mode := range []jsonobject.Mode{jsonobject.Tolerant, jsonobject.Strict} {
			o, p := read(doc, mode)
			if p != nil {
				t.Fatalf("%s: %v", doc, p)
			}
			if got := outerMembers.Append(nil, o); string(got) != doc {
				t.Errorf("got  %s\nwant %s", got, doc)
			}
		}
	}
	// Members may be in any order.
	o, p := read(`{"yes":true,"big":2,"text":"t","small":1}`, jsonobject.Strict)
	if want := (outer{text: "t", small: 1, big: 2, yes: true}); p != nil || !reflect.DeepEqual(*o, want) {
		t.Errorf("got %+v, %v", o, p)
	}
}

// TestUpTo checks that an earlier version neither writes nor accepts later members.
func TestUpTo(t *testing.T) {
	o, before := &outer{text: "t", big: 1, yes: true}, outerMembers.UpTo("big")
	if got := before.Append(nil, o); string(got) != `{"text":"t","small":0,"big":1}` {
		t.Errorf("got %s", got)
	}
	if p := before.Read(gjson.Parse(`{"big":1,"yes":true}`), o, jsonobject.Strict); p == nil || p.Error() != `unknown member "yes"; known are text, small, big` {
		t.Errorf("got %v", p)
	}
}

func TestStrict(t *testing.T) {
	for doc, want := range map[string]string{
		`[]`:                        "the document must be an object",
		`null`:                      "the document must be an object",
		`{}`:                        "big is missing",
		`{"big":"1"}`:               "big must be a whole number",
		`{"big":1.5}`:               "big must be a whole number",
		`{"big":null}`:              "big must be a whole number",
		`{"big":1,"Text":"x"}`:      `unknown member "Text"; known are text, small, big, yes, count, flag, cost, raw, names, one, many`,
		`{"":1}`:                    `unknown member ""; known are text, small, big, yes, count, flag, cost, raw, names, one, many`,
		`{"big":1,"one":{"":7}}`:    `unknown member "one."; known are id`,
		`{"big":1,"text":7}`:        "text must be a string",
		`{"big":1,"text":null}`:     "text must be a string",
		`{"big":1,"small":10}`:      "small must be a whole number from -1 to 9",
		`{"big":1,"small":0.5}`:     "small must be a whole number from -1 to 9",
		`{"big":1,"yes":"true"}`:    "yes must be true or false",
		`{"big":1,"cost":"1"}`:      "cost must be a number",
		`{"big":1,"names":"a"}`:     "names must be an array of strings",
		`{"big":1,"names":["a",1]}`: "names must be an array of strings",
		`{"big":1,"one":null}`:      "one must be an object",
		`{"big":1,"one":{}}`:        "one.id is missing",
		`{"big":1,"one":{"id":""}}`: "one.id is empty",
		`{"big":1,"one":{"id":7}}`:  "one.id must be a string",
		`{"big":1,"one":{"ID":7}}`:  `unknown member "one.ID"; known are id`,
		`{"big":1,"many":{}}`:       "many must be an array",
		`{"big":1,"many":[{"id":"x"},7,{"id":"y"}]}`: "many.1 must be an object",
		`{"big":1,"many":[{"id":"x"},{"id":7}]}`:     "many.1.id must be a string",
	} {
		if _, p := read(doc, jsonobject.Strict); p == nil || p.Error() != want {
			t.Errorf("%s: %v, want %s", doc, p, want)
		}
	}
}

// TestOpenAndNullable checks the differences from Strict: unknown members and null.
func TestOpenAndNullable(t *testing.T) {
	for _, c := range []struct {
		doc            string
		open, nullable string
	}{
		{`{"big":1,"new":2,"one":{"id":"x","new":3}}`, "", `unknown member "new"; known are text, small, big, yes, count, flag, cost, raw, names, one, many`},
		{`{"big":1,"many":[{"id":"x","new":3}]}`, "", `unknown member "many.0.new"; known are id`},
		{`{"big":1,"text":null,"yes":null,"raw":null,"one":null,"many":null}`, "text must be a string", ""},
		{`{"big":1,"one":{"id":null}}`, "one.id must be a string", "one.id is missing"},
		{`{"big":null}`, "big must be a whole number", "big is missing"},
		{`{"big":1,"yes":"true"}`, "yes must be true or false", "yes must be true or false"},
		{`{}`, "big is missing", "big is missing"},
		{`7`, "the document must be an object", "the document must be an object"},
	} {
		for mode, want := range map[jsonobject.Mode]string{jsonobject.Open: c.open, jsonobject.Nullable: c.nullable} {
			if _, p := read(c.doc, mode); (p != nil || want != "") && (p == nil || p.Error() != want) {
				t.Errorf("%s in mode %d: %v, want %s", c.doc, mode, p, want)
			}
		}
	}
	o := outer{text: "t", raw: []byte("1"), big: 1}
	if p := outerMembers.Of(&o).ReadJSON(gjson.Parse(`{"big":2,"text":null,"raw":null}`), jsonobject.Nullable); p != nil || o.text != "t" || string(o.raw) != "1" || o.big != 2 {
		t.Errorf("got %+v, %v", o, p)
	}
	if got := outerMembers.Of(&o).AppendJSON(nil); string(got) != `{"text":"t","small":0,"big":2,"raw":1}` {
		t.Errorf("got %s", got)
	}
}

// TestNew checks that a table may have 64 members and no more.
func TestNew(t *testing.T) {
	members := make([]jsonobject.Member[outer], 65)
	for i := range members {
		members[i] = jsonobject.Required(fmt.Sprint("m", i), jsonobject.Any, func(o *outer) any { return &o.raw })
	}
	var o outer
	if p := jsonobject.New(members[:64]...).Read(gjson.Parse("{}"), &o, jsonobject.Strict); p == nil || p.Error() != "m0 is missing" {
		t.Errorf("got %v", p)
	}
	defer func() {
		if recover() == nil {
			t.Error("New accepted 65 members")
		}
	}()
	jsonobject.New(members...)
}

// TestTolerant checks that a value of another kind reads as absent, and that the
// members after it are read.
func TestTolerant(t *testing.T) {
	o, p := read(`{"text":7,"small":"1","big":"2","yes":1,"count":"3","flag":0,"cost":"4","names":"a","one":[],"many":[{"new":1},7,{"id":"z"}],"new":{}}`, jsonobject.Tolerant)
	if want := (outer{many: []inner{{}, {}, {"z"}}}); p != nil || !reflect.DeepEqual(*o, want) {
		t.Errorf("got %+v, %v", o, p)
	}
	if o, p := read(`{"text":"t"}`, jsonobject.Tolerant); p == nil || p.Error() != "big is missing" || o.text != "t" {
		t.Errorf("got %+v, %v", o, p)
	}
	rows := make([]inner, 0, 8)
	if jsonobject.Items(&rows).ReadJSON(gjson.Parse(`[{"id":"x"}]`), jsonobject.Tolerant); len(rows) != 1 || cap(rows) != 8 {
		t.Errorf("got length %d, capacity %d; want 1, 8", len(rows), cap(rows))
	}
}
