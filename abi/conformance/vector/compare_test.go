package vector_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

func parse(t *testing.T, doc string) any {
	t.Helper()
	v, err := jsonvalue.Parse([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return v
}

func TestDiff(t *testing.T) {
	tests := []struct {
		got, want string
		at        string // path of the first difference; empty if equal
	}{
		{`{"a":1,"b":[true,null,"x"]}`, `{"b":[true,null,"x"],"a":1}`, ""},
		{`{"a":1}`, `{"a":1.0}`, ""},
		{`{"a":100}`, `{"a":1e2}`, ""},
		{`{"a":0.10}`, `{"a":1e-1}`, ""},
		{`{"a":0}`, `{"a":-0.0}`, ""},
		{`{"a":9007199254740992}`, `{"a":9007199254740993}`, "/a"},
		{`{"a":1}`, `{"a":-1}`, "/a"},
		{`{"a":10}`, `{"a":1}`, "/a"},
		{`{"a":1}`, `{"a":"1"}`, "/a"},
		{`{"a":1,"b":2}`, `{"a":1}`, "/b"},
		{`{"a":1}`, `{"a":1,"b":2}`, "/b"},
		{`{"a":{"b":[1,2]}}`, `{"a":{"b":[1,3]}}`, "/a/b/1"},
		{`{"a":[1,2]}`, `{"a":[1]}`, "/a"},
		{`{"x/y":1}`, `{"x/y":2}`, "/x~1y"},
		{`[]`, `{}`, "/"},
		{`null`, `false`, "/"},
		{`{"a":null}`, `{}`, "/a"},
	}
	for _, tt := range tests {
		lines := vector.Diff(parse(t, tt.got), parse(t, tt.want))
		if tt.at == "" && len(lines) > 0 || tt.at != "" && (len(lines) == 0 || !strings.HasPrefix(lines[0], tt.at+": ")) {
			t.Errorf("%s with %s: got %q, want a difference at %q", tt.got, tt.want, lines, tt.at)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		got, pattern string
		ok           bool
	}{
		{`{"a":1,"b":2}`, `{"a":1}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"x":1}}`, true},
		{`[1,2]`, `[1]`, false},
		{`{"a":1}`, `{"b":{"$absent":true}}`, true},
		{`{"a":null}`, `{"a":{"$absent":true}}`, false},
		{`{"a":null}`, `{"a":{"$any":true}}`, true},
		{`{}`, `{"a":{"$any":true}}`, false},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"$is":{"x":1}}}`, false},
		{`{"a":{"x":1}}`, `{"a":{"$is":{"x":1.0}}}`, true},
		{`{"a":1}`, `{"$only":{"a":{"$gte":1},"b":{"$absent":true}}}`, true},
		{`{"a":1,"c":1}`, `{"$only":{"a":1}}`, false},
		{`[1,2]`, `{"$len":2}`, true},
		{`"äö😀"`, `{"$len":3}`, true},
		{`"äö"`, `{"$gte":2,"$lte":2}`, true},
		{`5`, `{"$gte":5.5}`, false},
		{`{}`, `{"$len":0}`, false},
		{`"abc"`, `{"$prefix":"ab","$suffix":"bc","$contains":["a","c"],"$lacks":"d"}`, true},
		{`"abc"`, `{"$prefix":"bc"}`, false},
		{`{"k":["secret"]}`, `{"k":{"$lacks":["x","secret"]}}`, false},
		{`"äb"`, `{"$maxBytes":3}`, true},
		{`[1,2]`, `{"$maxBytes":4}`, false},
		{`[{"a":1},{"a":1,"b":2}]`, `{"$every":{"a":1}}`, true},
		{`[{"a":1},{"a":2}]`, `{"$every":{"a":1}}`, false},
		{`{}`, `{"$every":{"a":1}}`, false},
		{`[{"a":1},{"a":2}]`, `{"$some":[{"a":2},{"a":1}]}`, true},
		{`[{"a":1},{"a":2}]`, `{"$some":[{"a":3}]}`, false},
		{`[1,2,3]`, `{"$at":{"0":1,"-1":3}}`, true},
		{`[1,2,3]`, `{"$at":{"3":1}}`, false},
		{`[{"a":1},{"b":2}]`, `{"$pluck":{"a":[1,null]}}`, true},
		{`[{"a":1},{"a":2}]`, `{"$pluck":{"a":[2,1]}}`, false},
		{`[{"a":1},{"a":2}]`, `{"$unique":"a"}`, true},
		{`[{"a":1},{"a":1}]`, `{"$unique":"a"}`, false},
		{`{"a":2}`, `{"a":{"$or":[1,2]}}`, true},
		{`{"a":3}`, `{"a":{"$or":[1,2]}}`, false},
		{`{}`, `{"a":{"$or":[{"$absent":true},2]}}`, true},
		{`{}`, `{"a":{"$or":[1,2]}}`, false},
		{`{"a":1}`, `{"a":{"$or":[{"$absent":true},2]}}`, false},
		{`{"a":1,"b":"xy"}`, `{"$all":[{"a":1},{"$contains":"xy"}]}`, true},
		{`{"a":1,"b":"xy"}`, `{"$all":[{"a":1},{"$contains":"z"}]}`, false},
		{`1`, `{"$nonsense":1}`, false},
	}
	for _, tt := range tests {
		lines := vector.Match(parse(t, tt.got), parse(t, tt.pattern))
		if (len(lines) == 0) != tt.ok {
			t.Errorf("%s with %s: got %q, want ok %v", tt.got, tt.pattern, lines, tt.ok)
		}
	}
}

func TestExpand(t *testing.T) {
	tests := []struct{ doc, want string }{
		{`{"a":{"$repeat":"ab","times":3}}`, `{"a":"ababab"}`},
		{`{"$concat":["x",{"$repeat":"y","times":2}]}`, `"xyy"`},
		{`[0,{"$times":2,"each":"n{i}"},9]`, `[0,"n1","n2",9]`},
		{`[{"$times":2,"each":{"k{i}":{"$number":10,"step":-3}}}]`, `[{"k1":7},{"k2":4}]`},
		{`[{"$times":2,"each":[{"$times":2,"each":"{i}{m}","as":"m"}]}]`, `[["11","12"],["21","22"]]`},
		{`[{"$times":1,"each":[{"$times":1,"each":"{i}"},"{i}"]}]`, `[["1","1"]]`},
		{`"{i}"`, `"{i}"`},
	}
	for _, tt := range tests {
		got, err := vector.Expand(parse(t, tt.doc))
		if err != nil {
			t.Errorf("%s: %v", tt.doc, err)
			continue
		}
		for _, line := range vector.Diff(got, parse(t, tt.want)) {
			t.Errorf("%s: %s", tt.doc, line)
		}
	}
	for _, doc := range []string{
		`{"$repeat":"a"}`, `{"$repeat":1,"times":1}`, `{"$repeat":"a","times":1,"more":1}`, `{"$repeat":"aaaaaaaaaa","times":9999999}`,
		`{"$concat":[1]}`, `{"$times":1,"each":1}`, `[{"$times":"x","each":1}]`, `[{"$times":-1,"each":1}]`, `[{"$number":"x"}]`,
	} {
		if got, err := vector.Expand(parse(t, doc)); err == nil {
			t.Errorf("%s was accepted as %v", doc, got)
		}
	}
}
