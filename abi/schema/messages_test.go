package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// TestMessages validates the messages of every recording, and the encoded form of
// values with every member. Together they must cover the whole schema.
func TestMessages(t *testing.T) {
	m := loadMessages(t)
	recordings, err := recordingtest.Load("../../testdata/recordings")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("%d recordings: %v", len(recordings), err)
	}
	for _, one := range recordings {
		for i := range one.Exchanges {
			if err := m.exchange(&one.Exchanges[i]); err != nil {
				t.Errorf("%s: exchange %d: %v", one.ID, i, err)
			}
		}
	}
	for _, e := range encoded(t) {
		if err := m.check(e.name, e.doc); err != nil {
			t.Error(err)
		}
	}
	for _, capability := range abi.Capabilities {
		for _, side := range []string{".request", ".reply"} {
			if !m.covered["/$defs/"+capability+side] {
				t.Errorf("%s%s is not defined, or no message covers it", capability, side)
			}
		}
	}
	missing := m.uncovered("", m.doc)
	slices.Sort(missing)
	for _, pointer := range missing {
		t.Errorf("%s: no valid message covers it", pointer)
	}
}

// exchange validates the messages of one exchange. Only the input may be invalid, and
// only if the plugin refused it.
func (m *messages) exchange(x *recordingtest.Exchange) error {
	output := "step"
	if x.Export == abi.ExportDerive {
		output = "facts"
	}
	problems := []error{m.check(output, x.Output)}
	if err := m.check(x.Export, x.Input); err != nil && !refused(x.Output) {
		problems = append(problems, err)
	}
	for _, c := range x.Calls {
		var request struct {
			Op string `json:"op"`
		}
		problems = append(problems, json.Unmarshal(c.Request, &request))
		name := c.Namespace + "." + request.Op
		problems = append(problems, m.check(c.Namespace+".request", c.Request), m.check(name+".request", c.Request), m.check(name+".reply", c.Reply))
	}
	return errors.Join(problems...)
}

// refused reports whether an output is the refusal of an invalid input.
func refused(output []byte) bool {
	var out struct{ Error struct{ Code abi.Code } }
	return json.Unmarshal(output, &out) == nil && slices.Contains([]abi.Code{abi.InvalidArgs, abi.Unsupported, abi.Internal}, out.Error.Code)
}

// message is a document and the name of its definition.
type message struct {
	name string
	doc  []byte
}

type encoder interface{ AppendJSON([]byte) []byte }

// encoded returns encoded messages that together have every member. Those that add gets
// have no member that is zero.
func encoded(t *testing.T) (all []message) {
	n, yes, cost := int64(1), true, 0.5
	run := abi.Run{ID: "r", Status: abi.RunDone, Reply: "x", Error: "x", Model: "m", StartedAt: 1, EndedAt: 2,
		Usage: &abi.Usage{Input: &n, Output: &n, Total: &n, Cost: &cost}}
	target := abi.Target{Channel: "telegram", To: "7", AccountID: "work", ThreadID: "3"}
	session := abi.Session{Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: "s", UpdatedAt: 1, Label: "l", DisplayName: "d", Subject: "s",
		ChatType: "direct", Channel: "telegram", DeliveryContext: target, LastChannel: "telegram", LastTo: "7", LastAccountID: "work", LastThreadID: "3",
		Model: "m", ModelOverride: "m", ContextTokens: &n, TotalTokens: &n, ThinkingLevel: "high", VerboseLevel: "on", SystemSent: &yes, AbortedLastRun: &yes,
		SendPolicy: "allow", SpawnedBy: "agent:main:x", Sandboxed: true, Status: "done", ArchivedAt: 1, TranscriptPath: "/x"}
	texts := []abi.Message{{Seq: 1, JSON: []byte(`{"role":"user"}`), Truncations: []abi.Truncation{{Path: "/content", Bytes: 70000}}}}
	caller := abi.Caller{SessionKey: session.Key, AgentID: "main", Channel: "telegram", To: "7", AccountID: "work", ThreadID: "3", Sandboxed: true, Depth: 1, Hops: 2, RunID: "r"}
	config, state := []byte(`{"session":{"mainKey":"work"}}`), []byte(`{"x":[1]}`)
	scope := &abi.Scope{Agents: []string{"*"}, Keys: []string{session.Key}, SpawnedBy: session.Key}
	failure := []byte(`{"status":"error","error":"x"}`)
	tool := abi.Tool{Name: "t", Description: "d", InputSchema: ListInput, OutputSchema: ListOutput, ReadOnly: true, Needs: []string{"session", "tools", "agents", "models"}}

	add := func(name string, value any, doc []byte) {
		t.Helper()
		for _, field := range zeroFields(name, reflect.ValueOf(value)) {
			t.Errorf("%s is zero", field)
		}
		all = append(all, message{name, doc})
	}
	for name, e := range map[string]encoder{
		"description": &abi.Description{ABI: 1, Name: "n", Version: "1", StateVersion: 1, Resumes: [2]int{1, 1}, Capabilities: abi.Capabilities, Tools: []abi.Tool{tool}},
		"call":        &abi.CallInput{FlowID: "f", Step: 1, CallID: "c", Now: 2, AcceptedAt: 1, Tool: "t", Args: []byte(`[1]`), Caller: caller, Config: config},
		"resume": &abi.ResumeInput{FlowID: "f", Step: 2, Now: 2, AcceptedAt: 1, State: state, StateVersion: 1, Caller: caller, Config: config,
			Event: &abi.Event{Type: abi.EventRun, At: 1, Run: &run}},
		"derive":                &abi.DeriveRequest{Session: session, Target: &target, Config: config},
		"step":                  &abi.StepResult{Result: failure, Code: abi.NotFound, Note: "x", Wait: &abi.Wait{Run: "r", Until: 1, State: state, StateVersion: 1}},
		"event":                 &abi.Event{Type: abi.EventRun, At: 1, Run: &run},
		"store.get.request":     &abi.GetRequest{SessionKey: session.Key},
		"store.resolve.request": &abi.ResolveRequest{SessionID: "s", Scope: scope, MainKey: "main", Global: "main"},
		"store.list.request": &abi.ListRequest{Scope: scope, Kinds: sessionkey.Kinds, MainKey: "main", Global: "main", AgentID: "a", Label: "l", Search: "s", ActiveSince: 1,
			IncludeArchived: true, After: &abi.Position{UpdatedAt: 1, Key: session.Key}, Limit: 1, Messages: 1, MaxBytes: 1},
		"store.history.request": &abi.HistoryRequest{SessionKey: session.Key, Before: 1, Skip: 1, Limit: 1, ExcludeRoles: []string{"tool"}, MaxBytes: 1},
		"store.create.request":  &abi.CreateRequest{AgentID: "main", Label: "l", Model: "m", ThinkingLevel: "high", MaxActive: 1},
		"store.archive.request": &abi.ArchiveRequest{SessionKey: session.Key},
		"store.delete.request":  &abi.DeleteRequest{SessionKey: session.Key},
		"agent.status.request":  &abi.StatusRequest{RunID: "r"},
		"agent.waits.request":   &abi.WaitsRequest{SessionKey: session.Key},
		"agent.run.request":     &abi.RunRequest{SessionKey: session.Key, Message: "x", Context: "x", Source: session.Key, Group: abi.GroupNested, NoTools: true, TimeoutSeconds: 1},
		"deliver.send.request":  &abi.SendRequest{SessionKey: session.Key, Text: "x", RunID: "r", AtCall: true},
	} {
		add(name, e, e.AppendJSON(nil))
	}
	for name, op := range map[string]func() []byte{
		"store.get.reply":     func() []byte { return abi.AppendReply(nil, &abi.SessionReply{Session: &session}) },
		"store.resolve.reply": func() []byte { return abi.AppendReply(nil, &abi.SessionReply{}) },
		"store.create.reply":  func() []byte { return abi.AppendReply(nil, &abi.CreateReply{SessionKey: session.Key, SessionID: "s"}) },
		"store.archive.reply": func() []byte { return abi.AppendDoneReply(nil) },
		"store.delete.reply":  func() []byte { return abi.AppendError(nil, "another", "x") },
		"agent.status.reply":  func() []byte { return abi.AppendReply(nil, &abi.StatusReply{Run: &run}) },
		"agent.waits.reply":   func() []byte { return abi.AppendReply(nil, &abi.WaitsReply{Waits: new(true)}) },
		"agent.run.reply":     func() []byte { return abi.AppendReply(nil, &abi.RunReply{RunID: "r"}) },
		"deliver.send.reply":  func() []byte { return abi.AppendReply(nil, &abi.SendReply{DeliveryID: "d"}) },
		"caller":              func() []byte { return (&abi.Caller{Operator: true, RunID: "r"}).AppendJSON(nil) },
	} {
		all = append(all, message{name, op()})
	}
	list := &abi.ListPage{Rows: []abi.ListRow{{Session: session, Messages: texts}}, More: true}
	add("store.list.reply", list, abi.AppendReply(nil, list))
	history := &abi.HistoryPage{Messages: texts, More: true}
	add("store.history.reply", history, abi.AppendReply(nil, history))
	context := &abi.SessionContext{AgentID: "main", Kind: "main", Hidden: true, Channel: "telegram", Receive: abi.Forbidden, Deliver: abi.Forbidden, Target: target, Caller: caller}
	add("facts", context, context.AppendResult(nil))
	return all
}

// zeroFields returns the fields of a message that are not set. Without it the encoder
// of a new field would not be tested.
func zeroFields(path string, v reflect.Value) (unset []string) {
	switch v.Kind() {
	case reflect.Pointer:
		return zeroFields(path, v.Elem())
	case reflect.Slice:
		if v.Len() > 0 {
			return zeroFields(path, v.Index(0))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case v.Type() == reflect.TypeFor[abi.Caller]() && (f.Name == "Operator" || f.Name == "Attempt"): // Operator is false for a session; Attempt is not sent
			case v.Field(i).IsZero():
				unset = append(unset, path+"."+f.Name)
			case f.Type.Kind() != reflect.Interface:
				unset = append(unset, zeroFields(path+"."+f.Name, v.Field(i))...)
			}
		}
	}
	return unset
}

// TestInvalidMessages changes valid messages. Each change alone must make the message
// invalid.
func TestInvalidMessages(t *testing.T) {
	m := loadMessages(t)
	const session = `{"key":"agent:main:main","agentId":"main","kind":"other","sessionId":"s","updatedAt":1,"chatType":"group"}`
	const caller = `"caller":{"sessionKey":"agent:main:main","agentId":"main","sandboxed":false,"depth":0,"hops":0}`
	const run = `{"id":"r","status":"done","usage":{"input":1}}`
	valid := map[string]string{
		"description": `{"abi":1,"name":"n","version":"1","stateVersion":1,"resumes":[1,1],"capabilities":["store.get"],` +
			`"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":["session"]}]}`,
		"call":            `{"abi":1,"flowId":"f","step":1,"callId":"c","now":2,"acceptedAt":1,"tool":"t","args":null,` + caller + `,"config":{}}`,
		"resume":          `{"abi":1,"flowId":"f","step":2,"now":2,"acceptedAt":1,"state":null,"stateVersion":1,"event":{"type":"run","at":1,"run":` + run + `},` + caller + `,"config":{}}`,
		"step":            `{"result":{"status":"error","error":"x"},"code":"conflict","wait":{"run":"r","until":5,"state":1,"stateVersion":1},"note":"n"}`,
		"derive":          `{"abi":1,"session":{"key":"agent:main:main"},"target":{"to":"7"},"config":{}}`,
		"facts":           `{"result":{"agentId":"a","kind":"main","hidden":false,"channel":"unknown","receive":{"allowed":true},"deliver":{"allowed":false,"reason":"x"},` + caller + `}}`,
		"refusal":         `{"error":{"code":"internal","message":"x"}}`,
		"store.request":   `{"op":"list","scope":{"keys":[]},"kinds":["main"],"after":{"updatedAt":1,"key":"k"},"limit":1000,"messages":20,"maxBytes":1}`,
		"agent.request":   `{"op":"run","sessionKey":"k","message":"x","group":"nested","timeoutSeconds":0}`,
		"deliver.request": `{"op":"send","sessionKey":"k","text":"x"}`,

		"store.create.request":  `{"op":"create","agentId":"ops","label":"` + strings.Repeat("é", abi.MaxLabel) + `"}`,
		"store.history.request": `{"op":"history","sessionKey":"k","limit":1}`,
		"store.get.reply":       `{"ok":{"session":` + session + `}}`,
		"store.list.reply":      `{"ok":{"rows":[{"session":` + session + `,"messages":[]}],"more":true}}`,
		"store.history.reply":   `{"ok":{"messages":[{"seq":1,"message":{"Any":1},"cut":[{"path":"/a","bytes":1}]}],"more":false}}`,
		"store.delete.reply":    `{"ok":{}}`,
		"agent.status.reply":    `{"ok":{"run":` + run + `}}`,
	}
	tests := map[string][]struct{ old, new string }{
		"description": {{`"abi":1`, `"abi":2`}, {`"version":"1"`, `"version":"1 2"`}, {`[1,1]`, `[1]`}, {`store.get`, `store.patch`}, {`"name":"t",`, ``}, {`"readOnly":true`, `"readOnly":1`},
			{`"name":"n"`, `"Name":"n"`}, {`"inputSchema":{"type":"object"}`, `"inputSchema":{}`}, {`"session"]`, `"gateway"]`}},
		"call": {{`"abi":1`, `"abi":"1"`}, {`"now":2,`, ``}, {`"now"`, `"Now"`}, {`"now":2`, `"now":2.5`}, {`"now":2`, `"now":9007199254740993`}, {`"config":{}`, `"config":{},"event":null`}, {`"config":{}`, `"config":{},"state":null`},
			{`"step":1`, `"step":2`}, {`"args":null,`, ``}, {`"config":{}`, `"config":[]`}, {`"sandboxed":false,`, ``}, {`"agentId":"main",`, ``}, {`"hops":0`, `"hops":0,"role":"x"`},
			{`"hops":0`, `"hops":0,"operator":true`}, {`"sessionKey":"agent:main:main",`, ``}, {`"depth":0`, `"depth":2`}, {`"depth":0`, `"depth":false`}},
		"resume": {{`"state":null,`, ``}, {`"type":"run"`, `"type":"wake"`}, {`"status":"done"`, `"status":"running"`}, {`"type":"run"`, `"type":"time"`}, {`"input":1`, `"input":-1`},
			{`"at":1`, `"at":"1"`}, {`"stateVersion":1`, `"stateVersion":0`}, {`"step":2`, `"step":1`}, {`"flowId"`, `"flowid"`}, {`"config":{}`, `"config":{},"tool":"t"`}, {`"config":{}`, `"config":{},"args":{}`}, {`"stateVersion":1`, `"stateVersion":1.5`}, {`"run":` + run, `"run":null`}},
		"step": {{`{"result"`, `{"error":{"code":"internal","message":"x"},"result"`}, {`"code":"conflict"`, `"code":"busy"`}, {`"code":"conflict"`, `"Code":"conflict"`}, {`"note":"n"`, `"note":1`},
			{`"note":"n"`, `"note":"` + strings.Repeat("n", abi.MaxNote+1) + `"`}, {`"run":"r","until":5,`, ``}, {`"state":1,`, ``}, {`"until":5`, `"until":0`}, {`"status":"error"`, `"status":"ok"`},
			{`"result":{"status":"error","error":"x"},`, ``}, {`{"status":"error","error":"x"}`, `"x"`}, {`"stateVersion"`, `"version"`},
			{`"until":5`, `"until":5.5`}, {`"until":5`, `"until":"5"`}, {`"stateVersion":1`, `"stateVersion":2147483648`}},
		"derive": {{`"key":"agent:main:main"`, ``}, {`"config":{}`, `"now":1`}, {`"to":"7"`, `"to":7`}, {`"to":"7"`, `"To":"7"`}, {`"abi":1,`, ``}, {`"key"`, `"name":"x","key"`}},
		"facts": {{`{"result"`, `{"error":{"code":"internal","message":"x"},"result"`}, {`"allowed":true`, `"allowed":false`}, {`"allowed":true`, `"allowed":true,"reason":"x"`},
			{`"allowed":false`, `"allowed":true`}, {`"kind":"main"`, `"kind":"bot"`}, {`"hidden":false,`, ``}},
		"refusal": {{`"internal"`, `"unknown"`}, {`,"message":"x"`, ``}, {`{"error"`, `{"ok":{},"error"`}, {`"message":"x"`, `"message":"x","cause":"y"`}},
		"store.request": {{`"op":"list"`, `"op":"patch"`}, {`"op":"list",`, ``}, {`"op":"list"`, `"op":"get"`}, {`"limit":1000`, `"limit":1001`}, {`"limit":1000,`, ``}, {`"limit":1000`, `"Limit":1000`},
			{`"messages":20`, `"messages":21`}, {`["main"]`, `["bot"]`}, {`"keys":[]`, `"key":[]`}, {`"keys":[]`, `"keys":"k"`}, {`,"key":"k"`, ``}, {`"maxBytes":1`, `"maxBytes":1048577`}},
		"agent.request": {{`"op":"run"`, `"op":"abort"`}, {`"message":"x"`, `"message":" \n"`}, {`"message":"x"`, `"message":"` + strings.Repeat("x", abi.MaxText+1) + `"`}, {`"nested"`, `"main"`},
			{`"sessionKey"`, `"sessionkey"`}, {`"timeoutSeconds":0`, `"timeoutSeconds":-1`}, {`"op":"run"`, `"op":"run","deliver":true`}},
		"deliver.request":       {{`"op":"send"`, `"op":"post"`}, {`"text":"x"`, `"text":""`}, {`"text":"x"`, `"text":"x","atCall":"yes"`}, {`,"text":"x"`, ``}, {`"op":"send"`, `"op":"send","channel":"x"`}},
		"store.create.request":  {{`é"`, `éé"`}, {`"ops"`, `"Ops"`}, {`"agentId":"ops",`, ``}},
		"store.history.request": {{`"sessionKey":"k"`, `"sessionKey":""`}, {`"sessionKey":"k"`, `"sessionKey":"` + strings.Repeat("k", abi.MaxSessionKey+1) + `"`}, {`"limit":1`, `"limit":0`}},
		"store.get.reply": {{`{"ok"`, `{"error":{"code":"internal","message":"x"},"ok"`}, {`"ok"`, `"OK"`}, {`"kind":"other"`, `"kind":"bot"`}, {`"key":"agent:main:main",`, ``}, {`"updatedAt":1`, `"updatedAt":"1"`},
			{`"chatType"`, `"chattype"`}, {`"group"`, `"dm"`}, {`"session":`, `"run":`}},
		"store.list.reply":    {{`,"more":true`, ``}, {`{"session":` + session + `,"messages":[]}`, ``}, {`"messages":[]`, `"messages":[{"role":"user"}]`}, {`"messages":[]`, `"messages":null`}},
		"store.history.reply": {{`{"Any":1}`, `"x"`}, {`"seq":1,`, ``}, {`"path":"/a"`, `"path":"a"`}, {`"bytes":1`, `"length":1`}},
		"store.delete.reply":  {{`{}`, `{"sessionKey":"k"}`}, {`{}`, `null`}, {`{}`, `true`}},
		"agent.status.reply":  {{`"done"`, `"over"`}, {`"id":"r",`, ``}, {`"usage"`, `"Usage"`}, {run, `{}`}},
	}
	for name, doc := range valid {
		if err := m.check(name, []byte(doc)); err != nil {
			t.Error(err)
		}
		for _, change := range tests[name] {
			wrong := strings.Replace(doc, change.old, change.new, 1)
			if !json.Valid([]byte(wrong)) || wrong == doc || m.check(name, []byte(wrong)) == nil {
				t.Errorf("%s: %s instead of %s is valid: %.500s", name, change.new, change.old, wrong)
			}
		}
	}
}

// TestMessageBounds compares the schema with the names and limits of package abi.
func TestMessageBounds(t *testing.T) {
	m := loadMessages(t)
	var codes []string
	for _, c := range []abi.Code{abi.InvalidArgs, abi.NotFound, abi.Forbidden, abi.Conflict, abi.Limit, abi.Unsupported, abi.Internal} {
		codes = append(codes, string(c))
	}
	limit, _ := m.object("/$defs/limit")["maximum"].(json.Number)
	for pointer, want := range map[string]any{
		"/$defs/abi/const":                                               abi.Version,
		"/$defs/capability/enum":                                         abi.Capabilities,
		"/$defs/code/enum":                                               codes,
		"/$defs/kind/enum":                                               sessionkey.Kinds,
		"/$defs/sessionKey/maxLength":                                    abi.MaxSessionKey,
		"/$defs/limit/maximum":                                           abi.MaxListLimit,
		"/$defs/maxBytes/maximum":                                        abi.DefaultMaxBytes,
		"/$defs/text/maxLength":                                          abi.MaxText,
		"/$defs/count/maximum":                                           abi.MaxSafeInteger,
		"/$defs/time/maximum":                                            abi.MaxSafeInteger,
		"/$defs/time/minimum":                                            -abi.MaxSafeInteger,
		"/$defs/wait/properties/until/maximum":                           abi.MaxSafeInteger,
		"/$defs/wait/properties/stateVersion/maximum":                    math.MaxInt32,
		"/$defs/step/oneOf/1/properties/note/maxLength":                  abi.MaxNote,
		"/$defs/store.list.request/properties/messages/maximum":          abi.MaxListMessages,
		"/$defs/store.create.request/properties/label/maxLength":         abi.MaxLabel,
		"/$defs/store.create.request/properties/model/maxLength":         abi.MaxName,
		"/$defs/store.create.request/properties/thinkingLevel/maxLength": abi.MaxName,
	} {
		got, _ := jsonvalue.Lookup(m.doc, pointer)
		if list, ok := got.([]any); ok {
			var texts []string
			for _, item := range list {
				texts = append(texts, jsonvalue.Text(item))
			}
			got = texts
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", pointer, got, want)
		}
	}
	if limit != json.Number(strconv.Itoa(abi.MaxHistoryLimit)) {
		t.Errorf("list and history have different limits: the schema needs two definitions")
	}
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		if text, _ := m.object("/$defs/" + name)["description"].(string); text == "" {
			t.Errorf("%s has no description", name)
		}
	}
}
