package vector

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

func TestExpectations(t *testing.T) {
	ok := Answer{Result: []byte(`{"a":1,"b":2}`)}
	failed := Answer{Result: []byte(`{"status":"error","error":"limit: want a number"}`), Code: abi.InvalidArgs}
	forbidden := Answer{Result: []byte(`{"status":"forbidden","error":"no"}`), Code: abi.Forbidden}
	broken := Answer{Err: abi.NewError(abi.InvalidArgs, "no strict JSON")}
	tests := []struct {
		expect string
		a      Answer
		pass   bool
	}{
		{`{"result":{"a":1,"b":2}}`, ok, true},
		{`{"result":{"a":1}}`, ok, false},
		{`{"match":{"a":1}}`, ok, true},
		{`{"match":{"a":1}}`, broken, false},
		{`{"failure":{}}`, ok, false},
		{`{"failure":{"code":"invalid_args","contains":"limit","lacks":"secret"}}`, failed, true},
		{`{"failure":{"contains":["limit","kinds"]}}`, failed, false},
		{`{"failure":{"lacks":"number"}}`, failed, false},
		{`{"failure":{"code":"not_found"}}`, failed, false},
		{`{"failure":{"code":"forbidden"}}`, forbidden, true},
		{`{"failure":{}}`, broken, false},
		{`{"error":{"code":"invalid_args"}}`, broken, true},
		{`{"error":{"code":"limit"}}`, broken, false},
		{`{"error":{}}`, failed, false},
		{`{"refused":{"code":"invalid_args"}}`, broken, true},
		{`{"refused":{"code":"invalid_args"}}`, failed, true},
		{`{"refused":{}}`, ok, false},
		{`{"config":{"contains":"tools.x"}}`, forbidden, true},
		{`{"config":{"contains":"tools.x"}}`, ok, false},
		{`{"abandoned":true}`, Answer{Abandoned: true}, true},
		{`{"abandoned":true}`, ok, false},
		{`{"match":{}}`, Answer{Abandoned: true}, false},
	}
	for _, tt := range tests {
		doc, err := jsonvalue.Parse([]byte(tt.expect))
		if err != nil {
			t.Fatal(err)
		}
		e, err := expectation(doc)
		if err != nil {
			t.Fatalf("%s: %v", tt.expect, err)
		}
		result, wrong := examine("", tt.a)
		if wrong = append(wrong, e.Check(tt.a, result)...); (len(wrong) == 0) != tt.pass {
			t.Errorf("%s with %s: got %q, want pass %v", tt.expect, tt.a.Result, wrong, tt.pass)
		}
	}
}

func TestExamineAnswer(t *testing.T) {
	history := `{"sessionKey":"main","messages":[{}],"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":2,"hasMore":false}`
	tests := []struct {
		name, tool string
		a          Answer
		wrong      bool
	}{
		{"history", abi.ToolHistory, Answer{Result: []byte(history)}, false},
		{"flags are booleans", abi.ToolHistory, Answer{Result: []byte(strings.Replace(history, `"droppedMessages":false`, `"droppedMessages":0`, 1))}, true},
		{"truncated agrees", abi.ToolHistory, Answer{Result: []byte(strings.Replace(history, `"contentTruncated":false`, `"contentTruncated":true`, 1))}, true},
		{"more has an offset", abi.ToolHistory, Answer{Result: []byte(strings.Replace(history, `"hasMore":false`, `"hasMore":true`, 1))}, true},
		{"the offset continues", abi.ToolHistory, Answer{Result: []byte(strings.Replace(history, `"hasMore":false`, `"hasMore":true,"nextOffset":2`, 1))}, true},
		{"the offset is right", abi.ToolHistory, Answer{Result: []byte(strings.Replace(history, `"hasMore":false`, `"hasMore":true,"nextOffset":1`, 1))}, false},
		{"unknown member", abi.ToolHistory, Answer{Result: []byte(strings.Replace(history, `"hasMore"`, `"x":1,"hasMore"`, 1))}, true},
		{"list", abi.ToolList, Answer{Result: []byte(`{"count":1,"sessions":[{}]}`)}, false},
		{"count", abi.ToolList, Answer{Result: []byte(`{"count":2,"sessions":[{}]}`)}, true},
		{"duplicate member", abi.ToolList, Answer{Result: []byte(`{"count":0,"count":0,"sessions":[]}`)}, true},
		{"no object", "", Answer{Result: []byte(`[]`)}, true},
		{"failure without code", "", Answer{Result: []byte(`{"status":"error","error":"x"}`)}, true},
		{"code without failure", "", Answer{Result: []byte(`{}`), Code: abi.NotFound}, true},
		{"forbidden with another code", "", Answer{Result: []byte(`{"status":"forbidden","error":"x"}`), Code: abi.NotFound}, true},
		{"long failure", "", Answer{Result: []byte(`{"status":"error","error":"` + strings.Repeat("x", 5000) + `"}`), Code: abi.NotFound}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, wrong := examine(tt.tool, tt.a); (len(wrong) > 0) != tt.wrong {
				t.Errorf("got %q", wrong)
			}
		})
	}
}

func TestStepReferencesAndFollow(t *testing.T) {
	vector := loadOne(t, `{"id":"S2/x","spec":["S2"],"about":"x.","steps":[
		{"call":{"tool":"t"},"expect":{"match":{"next":3}}},
		{"call":{"tool":"t","args":{"from":{"$step":1,"path":"/next"}}},"expect":{"result":{"items":[4,5],"next":6}}},
		{"call":{"tool":"t"},"follow":{"from":"/next","to":"from","collect":"/items"},"expect":{"result":{"pages":3,"items":[1,2,4,5,6]}}},
		{"call":{"tool":"t"},"follow":{"from":"/next","to":"from","collect":"/items","front":true},"cost":{"calls":0,"bytes":0},"expect":{"match":{"items":[6,4,5,1,2]}}}]}`)
	pages := map[string]string{`{}`: `{"items":[1,2],"next":3}`, `{"from":3}`: `{"items":[4,5],"next":6}`, `{"from":6}`: `{"items":[6]}`}
	_, problems := Play(vector, CallFunc(func(_ string, args []byte) Answer { return Answer{Result: []byte(pages[string(args)])} }), nil)
	for _, p := range problems {
		t.Error(p)
	}
}

func TestSame(t *testing.T) {
	a := Answer{Result: []byte(`{"a": 1}`)}
	for _, b := range []Answer{{Result: []byte(`{"a":1}`)}, {Result: a.Result, Code: abi.NotFound}, {Err: abi.NotFound}} {
		if len(Same([]Answer{a}, []Answer{b}, "x")) != 1 {
			t.Errorf("%s and %s %s %v are reported as the same", a.Result, b.Result, b.Code, b.Err)
		}
	}
	if lines := Same([]Answer{a}, []Answer{a}, "x"); lines != nil {
		t.Errorf("got %q", lines)
	}
}

// loadOne loads a folder with one vector.
func loadOne(t *testing.T, doc string) *Vector {
	t.Helper()
	vectors, err := loadText("[" + doc + "]")
	if err != nil {
		t.Fatal(err)
	}
	return vectors[0]
}

func loadText(doc string) ([]*Vector, error) {
	return Load(fstest.MapFS{"x.json": {Data: []byte(doc)}})
}

func TestLoadRefuses(t *testing.T) {
	good := map[string]string{
		"id": `"S2.1/x"`, "spec": `["S2.1"]`, "about": `"x."`, "call": `{"tool":"t"}`, "expect": `{"match":{}}`,
	}
	vector := func(changed map[string]string) string {
		all := map[string]string{}
		for _, m := range []map[string]string{good, changed} {
			for name, v := range m {
				all[name] = v
			}
		}
		var members []string
		for name, v := range all {
			if v != "" {
				members = append(members, `"`+name+`":`+v)
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	if _, err := loadText("[" + vector(nil) + "]"); err != nil {
		t.Fatal(err)
	}
	tests := []map[string]string{
		{"surprise": "1"}, {"id": `"limit"`}, {"id": `"S2.1/X"`}, {"spec": `["2.1"]`}, {"about": ""}, {"now": `"x"`},
		{"config": `{"gateway":{}}`}, {"config": `5`}, {"caller": `"main"`}, {"caller": `{"agent":"x"}`}, {"store": `"nowhere"`},
		{"store": `{"sessions":[],"x":1}`}, {"store": `{"sessions":[{"key":"main","sessionId":"i","updatedAt":1}]}`},
		{"store": `{"sessions":[{"key":"agent:a:b","sessionId":"i"}]}`}, {"store": `{"sessions":[{"key":"agent:a:b","sessionId":"i","updatedAt":1,"kind":"cron"}]}`},
		{"store": `{"sessions":[{"key":"agent:a:b","sessionId":"i","updatedAt":1,"messages":["x"]}]}`},
		{"store": `{"sessions":[{"$times":2,"each":{"key":"agent:a:b","sessionId":"i","updatedAt":1}}]}`},
		{"call": `{"tool":"t","args":{},"argsText":""}`}, {"call": `{"args":{}}`}, {"call": `{"tool":"t","x":1}`}, {"call": `{"tool":"t","argsBase64":"!"}`},
		{"expect": ""}, {"expect": `{}`}, {"expect": `{"result":{},"match":{}}`}, {"expect": `{"success":{}}`}, {"expect": `{"failure":{"code":"teapot"}}`},
		{"expect": `{"failure":{"text":"x"}}`}, {"expect": `{"match":{"a":[{"$lenght":1}]}}`}, {"sameAs": `"S9/x"`}, {"steps": `[]`}, {"gap": `""`},
		{"follow": `{"from":"/a","too":"b"}`}, {"cost": `{"call":1}`},
	}
	for _, change := range tests {
		if _, err := loadText("[" + vector(change) + "]"); err == nil {
			t.Errorf("%v was accepted", change)
		}
	}
	for _, doc := range []string{"{}", "[5]", "[", "[" + vector(nil) + "," + vector(nil) + "]", "[{}]"} {
		if _, err := loadText(doc); err == nil {
			t.Errorf("%s was accepted", doc)
		}
	}
}
