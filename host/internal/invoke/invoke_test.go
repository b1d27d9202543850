package invoke

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		body string
		want Request
	}{
		{`{"tool":"sessions_list"}`, Request{Tool: "sessions_list", Args: []byte(`{}`)}},
		{` {"tool":" t ","action":"a","args":{"x": [1]},"sessionKey":" main ","dryRun":true} `,
			Request{Tool: "t", Action: "a", Args: []byte(`{"x": [1]}`), SessionKey: "main", DryRun: true}},
		{`{"tool":"t","action":null,"args":null,"sessionKey":null,"dryRun":null}`, Request{Tool: "t", Args: []byte(`{}`)}},
		{`{"\u0074ool":"t","sessionKey":""}`, Request{Tool: "t", Args: []byte(`{}`)}},
	} {
		got, err := Parse([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if d := cmp.Diff(&c.want, got); d != "" {
			t.Errorf("%s: %s", c.body, d)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, "not strict JSON"},
		{`{`, "not strict JSON"},
		{`{"tool":"t"}x`, "not strict JSON"},
		{`{"tool":"t","tool":"u"}`, "not strict JSON"},
		{`{"tool":"t","args":{"limit":1,"limit":2}}`, "not strict JSON"},
		{`{"tool":"t","args":{"limit":1e400}}`, "not strict JSON"},
		{"{\"tool\":\"\xff\"}", "not strict JSON"},
		{`{"tool":"\ud800"}`, "not strict JSON"},
		{strings.Repeat("[", 1000), "not strict JSON"},
		{`{"":1}`, `unknown member ""; known are`},
		{`[]`, "the body must be a JSON object"},
		{`"sessions_list"`, "the body must be a JSON object"},
		{`{}`, "no tool; name one"},
		{`{"tool":"  "}`, "no tool; name one"},
		{`{"tool":1}`, "tool must be a string"},
		{`{"Tool":"t"}`, `unknown member "Tool"; known are tool, action, args, sessionKey, dryRun`},
		{`{"tool":"t","sessionkey":"main"}`, `unknown member "sessionkey"`},
		{`{"tool":"t","args":[]}`, "args must be an object"},
		{`{"tool":"t","args":"{}"}`, "args must be an object"},
		{`{"tool":"t","dryRun":1}`, "dryRun must be true or false"},
		{`{"tool":"t","sessionKey":{}}`, "sessionKey must be a string"},
	} {
		_, err := Parse([]byte(c.body))
		if !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.body, err, c.want)
		}
	}
}

func TestMerged(t *testing.T) {
	const hasAction, noAction = `{"properties":{"action":{"type":"string"}}}`, `{"properties":{"limit":{}}}`
	for _, c := range []struct{ schema, action, args, want string }{
		{hasAction, "run", `{}`, `{"action":"run"}`},
		{hasAction, "ru\"n", `{"a":{"b":[1, 2]},"c\n":null}`, `{"action":"ru\"n","a":{"b":[1, 2]},"c\n":null}`},
		{hasAction, "run", `{"action":"own"}`, `{"action":"own"}`},
		{hasAction, "", `{"a":1}`, `{"a":1}`},
		{noAction, "run", `{"a":1}`, `{"a":1}`},
		{`{}`, "run", `{}`, `{}`},
	} {
		r := &Request{Action: c.action, Args: []byte(c.args)}
		if got := string(r.Merged([]byte(c.schema))); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.action, c.args, got, c.want)
		}
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply func() ([]byte, error)
		body  string
	}{
		{"result", func() ([]byte, error) { return Result([]byte(`{"count":0,"sessions":[]}`)) },
			`{"ok":true,"result":{"content":[{"type":"text","text":"{\n  \"count\": 0,\n  \"sessions\": []\n}"}],"details":{"count":0,"sessions":[]}}}`},
		{"tool failure", func() ([]byte, error) { return Result([]byte(`{"status":"forbidden","error":"no"}`)) },
			`{"ok":true,"result":{"content":[{"type":"text","text":"{\n  \"status\": \"forbidden\",\n  \"error\": \"no\"\n}"}],"details":{"status":"forbidden","error":"no"}}}`},
		{"dry run", func() ([]byte, error) {
			return DryRun("t", []byte(`{"a":1}`), &abi.Caller{SessionKey: "agent:main:main"})
		},
			`{"ok":true,"result":{"content":[{"type":"text","text":"{\n  \"dryRun\": true,\n  \"tool\": \"t\",\n  \"args\": {\n    \"a\": 1\n  },\n  \"sessionKey\": \"agent:main:main\"\n}"}],"details":{"dryRun":true,"tool":"t","args":{"a":1},"sessionKey":"agent:main:main"}}}`},
	} {
		if got, err := c.reply(); string(got) != c.body || err != nil {
			t.Errorf("%s: got %s, %v\nwant %s", c.name, got, err, c.body)
		}
	}
	if got, err := Result([]byte(`{`)); err == nil {
		t.Errorf("Result of invalid JSON: %s, want an error", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tool":"t","action":"a","args":{"x":[1]},"sessionKey":"main","dryRun":true}`))
	f.Add([]byte(`{"args":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Parse(body)
		if err != nil {
			return
		}
		if r.Tool == "" || len(r.Args) == 0 || r.Args[0] != '{' {
			t.Fatalf("accepted %q as %+v", body, r)
		}
		if again, err := Parse([]byte(`{"tool":"t","args":` + string(r.Merged([]byte(`{"properties":{"action":{}}}`))) + `}`)); err != nil {
			t.Fatalf("the merged arguments are not JSON: %v, %+v", err, again)
		}
	})
}
