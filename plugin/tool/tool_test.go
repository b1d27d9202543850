package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
)

func TestDescribe(t *testing.T) {
	out := Describe()
	if err := jsonstrict.Check(out); err != nil {
		t.Fatal(err)
	}
	var d struct {
		ABI          int
		Name         string
		Version      string
		StateVersion int
		Resumes      []int
		Tools        []struct {
			Name, Description         string
			InputSchema, OutputSchema json.RawMessage
			ReadOnly                  bool
			Needs                     []string
		}
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	if d.ABI != 1 || d.Name != "parley" || d.Version == "" || d.StateVersion != 1 || len(d.Resumes) != 2 {
		t.Errorf("%+v", d)
	}
	var names []string
	for _, tool := range d.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || tool.ReadOnly == (tool.Name == abi.ToolSend || tool.Name == abi.ToolSpawn) || len(tool.Needs) == 0 {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	if got := strings.Join(names, " "); got != "sessions_list sessions_history agents_list sessions_send sessions_spawn" {
		t.Errorf("tools: %s", got)
	}
}

func TestDescribeSchema(t *testing.T) {
	const at = "https://parley-wasm.github.io/abi/1/messages.json"
	messages, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Messages))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(at, messages); err != nil {
		t.Fatal(err)
	}
	description, err := jsonschema.UnmarshalJSON(bytes.NewReader(Describe()))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile(at + "#/$defs/description").Validate(description); err != nil {
		t.Error(err)
	}
}

func host() *guesttest.Store {
	return &guesttest.Store{
		Work: &guesttest.Work{},
		Sessions: []abi.Session{
			{Key: "agent:main:main", SessionID: "s1", UpdatedAt: 2, LastChannel: "telegram", LastTo: "7"},
			{Key: "agent:main:cron:x", SessionID: "s2", UpdatedAt: 1, SpawnedBy: "agent:main:main", Status: "done"},
			{Key: "agent:ops:main", SessionID: "s3", UpdatedAt: 3},
		},
		Messages: map[string][]abi.Message{"agent:main:main": {{JSON: []byte(`{"role":"user","content":"hi"}`)}}},
	}
}

func call(tool, args string) []byte {
	in := abi.CallInput{FlowID: "f", Step: 1, CallID: "c", Now: 1_700_000_000_000, AcceptedAt: 1_700_000_000_000, Tool: tool,
		Args: []byte(args), Caller: abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}}
	return Call(host(), in.AppendJSON(nil))
}

func TestCall(t *testing.T) {
	tests := []struct{ name, tool, args, want string }{
		{"S2", "sessions_list", `{}`, `{"result":{"count":2,"sessions":[{"key":"main","kind":"main","channel":"telegram","agentId":"main","updatedAt":2,"sessionId":"s1","lastChannel":"telegram","lastTo":"7","deliveryContext":{"channel":"telegram","to":"7"}},` +
			`{"key":"agent:main:cron:x","kind":"cron","channel":"internal","agentId":"main","updatedAt":1,"sessionId":"s2","spawnedBy":"main","status":"done"}]}}`},
		{"S3", "sessions_history", `{"sessionKey":"main"}`, `{"result":{"sessionKey":"main","messages":[{"role":"user","content":"hi"}],"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":32,"hasMore":false}}`},
		{"S6", "agents_list", ``, `{"result":{"requester":"main","allowAny":false,"agents":[{"id":"main"}]}}`},
		{"S4.3", "sessions_send", `{"sessionKey":"agent:main:cron:x","message":"hi","timeoutSeconds":0}`,
			`{"result":{"runId":"run-1","status":"accepted","sessionKey":"agent:main:cron:x","delivery":{"message":"stored","announce":"pending"}},` +
				`"wait":{"run":"run-1","state":{"tool":"sessions_send","state":{"phase":"first","run":"run-1","requester":"agent:main:main","target":"agent:main:cron:x","answered":true,"request":"hi"}},"stateVersion":1},` +
				`"note":"waiting for agent:main:cron:x"}`},
		{"S4.2", "sessions_send", `{"sessionKey":"agent:ops:main","message":"hi"}`, `{"result":{"status":"forbidden","error":"session \"agent:ops:main\" is not visible here: tools.sessions.visibility is \"tree\": only this session and the sessions it spawned are visible"},"code":"forbidden"}`},
		{"S0.1 invalid", "sessions_list", `{"limit":"x"}`, `{"result":{"status":"error","error":"limit must be a number"},"code":"invalid_args"}`},
		{"S0.1 arguments of another type", "agents_list", `[]`, `{"result":{"status":"error","error":"the arguments must be a JSON object with the parameters as members"},"code":"invalid_args"}`},
		{"S0.1 forbidden", "sessions_history", `{"sessionKey":"agent:ops:main"}`, `{"result":{"status":"forbidden","error":"session \"agent:ops:main\" is not visible here: tools.sessions.visibility is \"tree\": only this session and the sessions it spawned are visible"},"code":"forbidden"}`},
		{"S0.1 missing", "sessions_history", `{"sessionKey":"s3"}`, `{"result":{"status":"error","error":"no session with the key or sessionId \"s3\" is visible here; sessions_list shows those that are"},"code":"not_found"}`},
		{"unknown tool", "sessions_delete\n", `{}`, `{"error":{"code":"not_found","message":"this plugin has no tool \"sessions_delete?\""}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := call(tt.tool, tt.args); string(got) != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestStepErrors(t *testing.T) {
	const caller = `"caller":{"sessionKey":"agent:main:main","agentId":"main","sandboxed":false,"depth":0,"hops":0}`
	tests := []struct {
		name, in string
		code     abi.Code
		want     string
	}{
		{"not JSON", `{"abi":1`, abi.InvalidArgs, "not strict JSON: byte"},
		{"empty input", ``, abi.InvalidArgs, "not strict JSON"},
		{"duplicate", `{"abi":1,"abi":1}`, abi.InvalidArgs, "not strict JSON"},
		{"duplicate in arguments", `{"abi":1,"tool":"agents_list","args":{"a":1,"a":2},` + caller + `}`, abi.InvalidArgs, "not strict JSON"},
		{"array", `[]`, abi.InvalidArgs, "must be an object"},
		{"no version", `{}`, abi.Unsupported, "speaks version 1"},
		{"another version", `{"abi":2,` + caller + `}`, abi.Unsupported, "ABI version 2"},
		{"version as text", `{"abi":"1",` + caller + `}`, abi.Unsupported, "speaks version 1"},
		{"no caller", `{"abi":1,"tool":"agents_list"}`, abi.InvalidArgs, "names no caller"},
		{"invalid caller", `{"abi":1,"tool":"agents_list","caller":"x"}`, abi.InvalidArgs, "caller must be an object"},
		{"no tool", `{"abi":1,` + caller + `}`, abi.NotFound, `no tool ""`},
		{"configuration", `{"abi":1,"tool":"sessions_list","config":{"tools":{"sessions":{"visibility":"x"}}},` + caller + `}`, abi.Internal, "tools.sessions.visibility"},
		{"configuration of a wrong shape", `{"abi":1,"tool":"sessions_list","config":{"tools":{"sessions":"self"}},` + caller + `}`, abi.Internal, "tools.sessions"},
		{"unknown member", `{"abi":1,"tool":"agents_list","Args":{},` + caller + `}`, abi.InvalidArgs, "unknown member \"Args\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, Call(host(), []byte(tt.in)), tt.code, tt.want)
		})
	}
}

func checkError(t *testing.T, out []byte, code abi.Code, text string) {
	t.Helper()
	var r struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Error.Code != string(code) || !strings.Contains(r.Error.Message, text) {
		t.Errorf("%v: %s; want %s, %s", err, out, code, text)
	}
}

// resumeInput returns a complete input of resume, in JSON.
func resumeInput(state, version, event string) []byte {
	return []byte(`{"abi":1,"flowId":"f","step":2,"now":5,"acceptedAt":4,"state":` + state + `,"stateVersion":` + version + `,"event":` + event +
		`,"caller":{"sessionKey":"agent:main:main","agentId":"main","sandboxed":false,"depth":0,"hops":0},"config":{}}`)
}

const (
	ended = `{"type":"run","at":5,"run":{"id":"run-1","status":"done","reply":"yes","startedAt":4,"endedAt":5}}`
	first = `{"phase":"first","run":"run-1","requester":"agent:main:main","target":"agent:main:cron:x","request":"hi"}`
)

func TestResume(t *testing.T) {
	got := Resume(host(), resumeInput(`{"tool":"sessions_send","state":`+first+`}`, "1", ended))
	const want = `{"result":{"runId":"run-1","status":"ok","reply":"yes","sessionKey":"agent:main:cron:x","delivery":{"message":"answered","announce":"pending"}},` +
		`"wait":{"run":"run-1","state":{"tool":"sessions_send","state":{"phase":"turn","run":"run-1","requester":"agent:main:main","target":"agent:main:cron:x","answered":true,"turn":1,"request":"hi","reply":"yes"}},"stateVersion":1},` +
		`"note":"turn 1 of 5: waiting for agent:main:main"}`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for name, tt := range map[string]struct {
		in   []byte
		code abi.Code
		text string
	}{
		"another version":     {resumeInput(`{"tool":"sessions_send","state":`+first+`}`, "7", ended), abi.Unsupported, "state of version 7"},
		"no version":          {resumeInput(`{"tool":"sessions_send","state":`+first+`}`, "null", ended), abi.InvalidArgs, "stateVersion must be"},
		"unknown tool":        {resumeInput(`{"tool":"sessions_fork","state":{}}`, "1", ended), abi.Unsupported, "plugin that wrote the state"},
		"tool without resume": {resumeInput(`{"tool":"sessions_list","state":{}}`, "1", ended), abi.Unsupported, "plugin that wrote the state"},
		"no tool":             {resumeInput(first, "1", ended), abi.Unsupported, "plugin that wrote the state"},
		"no state":            {resumeInput(`null`, "1", ended), abi.Unsupported, "plugin that wrote the state"},
		"state is an array":   {resumeInput(`["sessions_send"]`, "1", ended), abi.Unsupported, "plugin that wrote the state"},
		"an empty state":      {resumeInput(`{"tool":"sessions_send"}`, "1", ended), abi.Internal, "cannot be read"},
		"no event":            {resumeInput(`{"tool":"sessions_send","state":`+first+`}`, "1", `null`), abi.InvalidArgs, "needs the event"},
		"invalid event":       {resumeInput(`{"tool":"sessions_send","state":`+first+`}`, "1", `{"type":"alarm","at":1}`), abi.InvalidArgs, "event.type"},
		"not JSON":            {[]byte(`{`), abi.InvalidArgs, "the input of resume is not strict JSON"},
		"another ABI":         {[]byte(`{"abi":9}`), abi.Unsupported, "ABI version 9"},
	} {
		t.Run(name, func(t *testing.T) { checkError(t, Resume(host(), tt.in), tt.code, tt.text) })
	}
}

// outputs returns the tools' output schemas by tool name.
func outputs(t testing.TB) map[string]*jsonschema.Schema {
	schemas := map[string]*jsonschema.Schema{}
	var d struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
	}
	if err := json.Unmarshal(Describe(), &d); err != nil {
		t.Fatal(err)
	}
	for _, tool := range d.Tools {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.OutputSchema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(tool.Name, v); err != nil {
			t.Fatal(err)
		}
		if schemas[tool.Name], err = c.Compile(tool.Name); err != nil {
			t.Fatal(err)
		}
	}
	return schemas
}

// checkStep fails the test unless out is a step result in strict JSON. A tool result in it
// must match the schema. It returns whether there is a tool result, and whether the step
// failed.
func checkStep(t *testing.T, out []byte, schema *jsonschema.Schema) (answered, failed bool) {
	t.Helper()
	if err := jsonstrict.Check(out); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	var r struct {
		Result, Error json.RawMessage
		Wait          *struct {
			Run   string
			Until int64
			State json.RawMessage
		}
		Note string
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Error != nil && (r.Result != nil || r.Wait != nil) {
		t.Fatalf("%v: %s", err, out)
	}
	if len(r.Note) > abi.MaxNote || r.Wait != nil && (r.Wait.Run == "" && r.Wait.Until <= 0 || len(r.Wait.State) > abi.MaxState) {
		t.Fatalf("step result exceeds the bounds of the ABI: %s", out)
	}
	if r.Result == nil {
		return false, r.Error != nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Result))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Fatalf("%v: %s", err, r.Result)
	}
	return true, false
}

// For every input, the output is a step result, and a tool result in it matches the schema.
func FuzzCall(f *testing.F) {
	schemas := outputs(f)
	for _, args := range []string{`{}`, `{"sessionKey":"main"}`, `{"kinds":["cron"],"limit":1,"messageLimit":2}`, `{"sessionKey":"s1","offset":1}`, `{"cursor":"NTp4"}`,
		`{"sessionKey":"s2","message":"x","timeoutSeconds":0}`, `{"label":"x","message":"y"}`} {
		for tool := range schemas {
			f.Add(tool, args, `{"tools":{"sessions":{"visibility":"all"}}}`)
		}
	}
	f.Fuzz(func(t *testing.T, tool, args, config string) {
		in := abi.CallInput{Tool: tool, Args: []byte(args), Config: []byte(config), Now: 1_700_000_000_000, Caller: abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}}
		out := Call(host(), in.AppendJSON(nil))
		if answered, failed := checkStep(t, out, schemas[tool]); tool != abi.ToolSend && answered == failed {
			t.Fatalf("%s", out)
		}
	})
}

// For every state and event, resume returns a step result.
func FuzzResume(f *testing.F) {
	schema := outputs(f)[abi.ToolSend]
	for _, state := range []string{first, `{"phase":"turn","run":"run-1","requester":"agent:main:main","target":"agent:main:cron:x","answered":true,"turn":5,"reply":"x","latest":"y","latestTurn":4}`,
		`{"phase":"announce","run":"run-1","target":"global","answered":true,"turn":9007199254740992}`, `{}`, `null`} {
		for _, event := range []string{ended, `{"type":"run","at":1,"run":{"id":"run-1","status":"failed","error":"token=abc"}}`, `{"type":"time","at":1}`, `{"type":"cancel","at":1}`, `{"type":"run"}`, `null`} {
			f.Add(state, event, `{"session":{"scope":"global","agentToAgent":{"maxPingPongTurns":2}}}`)
		}
	}
	f.Fuzz(func(t *testing.T, state, event, config string) {
		in := fmt.Appendf(nil, `{"abi":1,"step":2,"state":{"tool":"sessions_send","state":%s},"stateVersion":%d,"event":%s,`+
			`"caller":{"sessionKey":"agent:main:main","agentId":"main","sandboxed":false,"depth":0,"hops":0},"config":%s}`, state, StateVersion, event, config)
		h := host()
		h.Work.Status = map[string]*abi.Run{"run-1": {ID: "run-1", Status: abi.RunRunning}}
		checkStep(t, Resume(h, in), schema)
	})
}
