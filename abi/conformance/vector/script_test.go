package vector

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

func TestLoadScriptAndSteps(t *testing.T) {
	v := loadOne(t, `{"id":"S4/x","spec":["S4"],"about":"x.","config":{"runs":{}},
		"agents":{"agent:main:b":["a",{"reply":"b","takesMs":5},{"error":"e"},{"status":"failed"},{"status":"timeout"},{"calls":[{"tool":"t","args":{"a":1},"expect":{"match":{}}}]}]},
		"before":[{"sessionKey":"agent:main:b","takesMs":7}],
		"steps":[
			{"call":{"tool":"t"},"callId":"c","caller":"operator","abandonAfterMs":3,"afterMs":2,"expect":{"abandoned":true}},
			{"patch":{"key":"agent:main:b","sendPolicy":null,"archived":true}},
			{"patch":{"key":"agent:main:b","sendPolicy":"deny"},"afterMs":9},
			{"message":{"sessionKey":"agent:main:b","text":"/send on","from":"1","channel":"c","to":"t"},"expect":{"match":{"status":"ok"}}},
			{"restart":true},
			{"kill":{"runId":{"$step":1,"path":"/runId"}},"afterMs":4}],
		"then":{"runs":[],"deliveries":{"$len":0}}}`)
	turns := v.Agents["agent:main:b"]
	if len(turns) != 6 || turns[0].Reply != "a" || turns[0].TakesMs != DefaultTakesMs || turns[0].Status != abi.RunDone {
		t.Errorf("turns: %+v", turns)
	}
	if turns[2].Status != abi.RunFailed || turns[3].Error == "" || turns[4].Status != abi.RunTimeout || string(turns[5].Calls[0].Args) != `{"a":1}` {
		t.Errorf("turns: %+v", turns)
	}
	if len(v.Before) != 1 || v.Before[0].TakesMs != 7 || !v.Writes() || v.Then == nil {
		t.Errorf("got %+v", v)
	}
	s := v.Steps
	if s[0].CallID != "c" || !s[0].Caller.Operator || s[0].AbandonAfterMs != 3 || s[0].AfterMs != 2 {
		t.Errorf("step 1: %+v", s[0])
	}
	if p := s[1].Patch; p.SendPolicy == nil || *p.SendPolicy != "" || !*p.Archived {
		t.Errorf("step 2: %+v", p)
	}
	if p := s[2].Patch; *p.SendPolicy != "deny" || p.Archived != nil || s[2].AfterMs != 9 {
		t.Errorf("step 3: %+v", p)
	}
	if m := s[3].Message; m.Text != "/send on" || m.Target.To != "t" || !s[4].Restart {
		t.Errorf("step 4: %+v", m)
	}
	if args, err := s[5].Arguments([]any{map[string]any{"runId": "r"}}); !s[5].Abort || s[5].AfterMs != 4 || err != nil || string(args) != `{"runId":"r"}` {
		t.Errorf("step 6: %+v, %s, %v", s[5], args, err)
	}
}

func TestLoadRefusesInvalidScriptAndSteps(t *testing.T) {
	const call = `"call":{"tool":"t"},"expect":{"match":{}}`
	for _, rest := range []string{
		`"agents":[],` + call, `"agents":{"k":[5]},` + call, `"agents":{"k":[{"replies":"x"}]},` + call, `"agents":{"k":[{"status":"sleeping"}]},` + call,
		`"agents":{"k":[{"status":"killed","reply":"x"}]},` + call, `"agents":{"k":[{"status":"done","error":"x"}]},` + call, `"agents":{"k":[{"takesMs":"1"}]},` + call,
		`"agents":{"k":[{"calls":{"tool":"t"}}]},` + call, `"agents":{"k":[{"calls":[{"args":{}}]}]},` + call, `"agents":{"k":[{"calls":[{"tool":"t","expect":{}}]}]},` + call,
		`"before":[{"takesMs":1}],` + call, `"before":[{"sessionKey":"k"},{"sessionKey":"k"}],` + call,
		`"then":{},` + call, `"then":[],` + call, `"then":{"messages":[]},` + call, `"then":{"runs":[{"$nonsense":1}]},` + call,
		`"steps":[{"patch":{"key":"k"},"expect":{"match":{}}}]`, `"steps":[{"patch":{"sendPolicy":"deny"}}]`, `"steps":[{"patch":{"key":"k","label":"x"}}]`,
		`"steps":[{"kill":{}}]`, `"steps":[{"kill":"r"}]`, `"steps":[{"kill":{"runId":"r","why":"x"}}]`, `"steps":[{"kill":{"runId":"r"},"expect":{"match":{}}}]`,
		`"steps":[{"restart":false}]`, `"steps":[{"restart":true,"call":{"tool":"t"}}]`, `"steps":[{"message":{"sessionKey":"k"},"expect":{"match":{}}}]`,
		`"steps":[{"message":{"sessionKey":"k","text":"x"}}]`, `"steps":[{"afterMs":"1",` + call + `}]`, `"steps":[{"caller":"main",` + call + `}]`, `"steps":[{"callId":5,` + call + `}]`,
		`"call":{"tool":"t"},"expect":{"abandoned":false}`, `"callId":"c",` + call,
	} {
		if v, err := loadText(`[{"id":"S4/x","spec":["S4"],"about":"x.",` + rest + `}]`); err == nil {
			t.Errorf("%s was accepted: %+v", rest, v[0])
		}
	}
}

func TestExamineSend(t *testing.T) {
	sent := func(members string) Answer {
		return Answer{Result: []byte(`{"runId":"r","sessionKey":"main",` + members + `}`)}
	}
	const d = `"delivery":{"message":"answered","announce":"pending"}`
	tests := []struct {
		name  string
		a     Answer
		wrong bool
	}{
		{"ok", sent(`"status":"ok","reply":"",` + d), false},
		{"ok without a reply", sent(`"status":"ok",` + d), true},
		{"ok with an error", sent(`"status":"ok","reply":"","error":"x",` + d), true},
		{"ok, not answered", sent(`"status":"ok","reply":"","delivery":{"message":"started","announce":"pending"}`), true},
		{"timeout", sent(`"status":"timeout","error":"x","delivery":{"message":"stored","announce":"skipped"}`), false},
		{"timeout, answered", sent(`"status":"timeout","error":"x",` + d), true},
		{"accepted", sent(`"status":"accepted","delivery":{"message":"stored","announce":"pending"}`), false},
		{"accepted with a reply", sent(`"status":"accepted","reply":"x","delivery":{"message":"stored","announce":"pending"}`), true},
		{"a failed run", sent(`"status":"error","error":"x",` + d), false},
		{"another status", sent(`"status":"done",` + d), true},
		{"another announce", sent(`"status":"accepted","delivery":{"message":"stored","announce":"delivered"}`), true},
		{"no delivery", sent(`"status":"accepted"`), true},
		{"no run", Answer{Result: []byte(`{"status":"ok","reply":"x",` + d + `}`)}, true},
		{"a refusal", Answer{Result: []byte(`{"status":"forbidden","error":"x"}`), Code: abi.Forbidden}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, wrong := examine(abi.ToolSend, tt.a); (len(wrong) > 0) != tt.wrong {
				t.Errorf("got %q", wrong)
			}
		})
	}
}

func TestExamineSpawn(t *testing.T) {
	const good = `{"status":"accepted","runId":"r","childSessionKey":"agent:a:subagent:1","model":""}`
	for result, wrong := range map[string]bool{
		good:                                  false,
		strings.Replace(good, `"r"`, `""`, 1): true,
		strings.Replace(good, `,"model":""`, ``, 1):        true,
		strings.Replace(good, `subagent:1`, `main`, 1):     true,
		strings.Replace(good, `}`, `,"reply":"x"}`, 1):     true,
		strings.Replace(good, `"accepted"`, `"ok"`, 1):     true,
		strings.Replace(good, `"accepted"`, `"queued"`, 1): true,
	} {
		if _, problems := examine(abi.ToolSpawn, Answer{Result: []byte(result)}); (len(problems) > 0) != wrong {
			t.Errorf("%s: got %q", result, problems)
		}
	}
}
