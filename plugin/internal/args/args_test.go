package args

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

func TestRead(t *testing.T) {
	tests := []struct {
		name string
		doc  string
		read func(*Args) any
		want any
		err  string // part of the failure
	}{
		{"string", `{"s":" a b\t"}`, func(a *Args) any { return a.String("s") }, "a b", ""},
		{"blank string", `{"s":" \n"}`, func(a *Args) any { return a.String("s") }, "", ""},
		{"absent string", `{}`, func(a *Args) any { return a.String("s") }, "", ""},
		{"no arguments", ``, func(a *Args) any { return a.String("s") }, "", ""},
		{"null arguments", `null`, func(a *Args) any { return a.String("s") }, "", ""},
		{"null string", `{"s":null}`, func(a *Args) any { return a.String("s") }, "", ""},
		{"escaped name", `{"\u0073":"x"}`, func(a *Args) any { return a.String("s") }, "x", ""},
		{"number for string", `{"s":1}`, func(a *Args) any { return a.String("s") }, "", "s must be a string"},
		{"required", `{"s":" x"}`, func(a *Args) any { return a.Required("s", "a key") }, "x", ""},
		{"required blank", `{"s":" "}`, func(a *Args) any { return a.Required("s", "a key") }, "", "s is required: a key"},
		{"required absent", `{}`, func(a *Args) any { return a.Required("s", "a key") }, "", "s is required: a key"},
		{"required wrong type", `{"s":[]}`, func(a *Args) any { return a.Required("s", "a key") }, "", "s must be a string"},

		{"choice", `{"s":" b "}`, func(a *Args) any { return a.Choice("s", "a", "b") }, "b", ""},
		{"choice absent", `{"s":" "}`, func(a *Args) any { return a.Choice("s", "a", "b") }, "a", ""},
		{"choice in another case", `{"s":"B"}`, func(a *Args) any { return a.Choice("s", "a", "b") }, "a", `s has the unknown value "B"; accepted are a, b`},
		{"choice of another type", `{"s":true}`, func(a *Args) any { return a.Choice("s", "a", "b") }, "a", "s must be a string"},

		{"default", `{}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(50), ""},
		{"null number", `{"n":null}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(50), ""},
		{"floored", `{"n":5.9}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(5), ""},
		{"floored below", `{"n":-0.5}`, func(a *Args) any { return a.Clamped("n", 0, -5, 20) }, int64(-1), ""},
		{"exponent", `{"n":1e2}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(100), ""},
		{"clamped up", `{"n":0}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(1), ""},
		{"clamped down", `{"n":9007199254740992}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(200), ""},
		{"not finite", `{"n":1e999}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(50), "n must be a number"},
		{"string for number", `{"n":"5"}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(50), "n must be a number"},
		{"boolean for number", `{"n":true}`, func(a *Args) any { return a.Clamped("n", 50, 1, 200) }, int64(50), "n must be a number"},

		{"at least", `{"n":1.7}`, func(a *Args) any { v, ok := a.AtLeast("n", 1); return []any{v, ok} }, []any{int64(1), true}, ""},
		{"below", `{"n":0.7}`, func(a *Args) any { v, ok := a.AtLeast("n", 1); return []any{v, ok} }, []any{int64(0), false}, "n must be a number of at least 1"},
		{"not given", `{}`, func(a *Args) any { v, ok := a.AtLeast("n", 1); return []any{v, ok} }, []any{int64(0), false}, ""},

		{"true", `{"b":true}`, func(a *Args) any { return a.Bool("b") }, true, ""},
		{"false", `{"b":false}`, func(a *Args) any { return a.Bool("b") }, false, ""},
		{"null boolean", `{"b":null}`, func(a *Args) any { return a.Bool("b") }, false, ""},
		{"string for boolean", `{"b":"true"}`, func(a *Args) any { return a.Bool("b") }, false, "b must be true or false"},

		{"kinds", `{"k":["cron"," main ","cron",""]}`, func(a *Args) any { return a.SubsetOf("k", sessionkey.Kinds) }, []string{"cron", "main"}, ""},
		{"no kinds", `{"k":[]}`, func(a *Args) any { return a.SubsetOf("k", sessionkey.Kinds) }, []string(nil), ""},
		{"unknown kind", `{"k":["cron","Main"]}`, func(a *Args) any { return a.SubsetOf("k", sessionkey.Kinds) }, []string(nil),
			`k contains the unknown value "Main"; accepted are main, group, cron, hook, node, other`},
		{"string for kinds", `{"k":"cron"}`, func(a *Args) any { return a.SubsetOf("k", sessionkey.Kinds) }, []string(nil), "k must be an array of strings"},
		{"number in kinds", `{"k":[1]}`, func(a *Args) any { return a.SubsetOf("k", sessionkey.Kinds) }, []string(nil), "k must be an array of strings"},

		{"unknown parameter", `{"x\n":1}`, func(a *Args) any { a.String("s"); a.Bool("b"); return nil }, nil, `unknown parameter "x?"; accepted are s, b`},
		{"wrong case", `{"Limit":1}`, func(a *Args) any { return a.Clamped("limit", 50, 1, 200) }, int64(50), `unknown parameter "Limit"; its name is limit`},
		{"no parameters", `{"x":null}`, func(*Args) any { return nil }, nil, `unknown parameter "x"; this tool takes no parameters`},
		{"array", `[1]`, func(a *Args) any { return a.String("s") }, "", "must be a JSON object"},
		{"text", `"x"`, func(a *Args) any { return a.String("s") }, "", "must be a JSON object"},
		{"first failure", `{"b":1,"s":1}`, func(a *Args) any { a.String("s"); return a.Bool("b") }, false, "s must be a string"},
	}
	for _, tt := range tests {
		t.Run("S0.2 "+tt.name, func(t *testing.T) {
			a := Read(tt.doc)
			if got := tt.read(a); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("read %#v; want %#v", got, tt.want)
			}
			err := a.Done()
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("failed: %v", err)
			case tt.err != "" && (!errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("failed with %v; want %s", err, tt.err)
			}
		})
	}
}

// Read keeps at most maxMembers members.
func TestManyMembers(t *testing.T) {
	doc := []byte(`{"known":1`)
	for i := range 10_000 {
		doc = fmt.Appendf(doc, `,"p%d":1`, i)
	}
	a := Read(string(append(doc, '}')))
	a.Clamped("known", 0, 0, 9)
	if err := a.Done(); !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), "p0") || len(a.members) > maxMembers {
		t.Errorf("%d members kept, %v", len(a.members), err)
	}
}

// A misspelt name is reported before the required parameter that is missing because of it.
func TestUnknownBeforeMissing(t *testing.T) {
	a := Read(`{"SessionKey":"main"}`)
	a.Required("sessionKey", "a key")
	if err := a.Done(); err == nil || !strings.Contains(err.Error(), "its name is sessionKey") {
		t.Errorf("got %v", err)
	}
}
