package guest_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
)

var (
	yes, no = true, false
	seven   = int64(7)
	zero    = int64(0)
	full    = abi.Session{
		Key: "agent:main:x", AgentID: "main", Kind: "other", SessionID: "s\n\"é", UpdatedAt: 1_700_000_000_000, Label: "l", DisplayName: "d", Subject: "sub",
		ChatType: "direct", Channel: "c", DeliveryContext: abi.Target{Channel: "c", To: "t", AccountID: "a", ThreadID: "th"}, LastChannel: "lc", LastTo: "lt",
		LastAccountID: "la", LastThreadID: "lth", Model: "m", ModelOverride: "mo", ContextTokens: &seven, TotalTokens: &zero, ThinkingLevel: "tl", VerboseLevel: "vl",
		SystemSent: &yes, AbortedLastRun: &no, SendPolicy: "deny", SpawnedBy: "agent:main:main", Sandboxed: true, Status: "done", ArchivedAt: 9, TranscriptPath: "/p",
	}
	cost     = 0.25
	endedRun = abi.Run{ID: "r", Status: abi.RunDone, Reply: "yes\n", Error: "e", Model: "m", Usage: &abi.Usage{Input: &seven, Output: &zero, Total: &seven, Cost: &cost}, StartedAt: 1, EndedAt: 2}
	message  = abi.Message{Seq: 3, JSON: []byte(`{"role":"user","content":"x"}`), Truncations: []abi.Truncation{{Path: "/content", Bytes: 70000}}}
)

// The client reads every field that the ABI's encoders write.
func TestRoundTrip(t *testing.T) {
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("this test does not set %s", v.Type().Field(i).Name)
		}
	}
	reply := string(abi.AppendReply(nil, &abi.SessionReply{Session: &full}))
	c := guest.NewClient(guesttest.NewScript(t,
		guesttest.Exchange{Request: `{"op":"get","sessionKey":"k"}`, Reply: reply},
		guesttest.Exchange{Request: `{"op":"resolve","sessionId":"i","scope":{"keys":["k"]},"mainKey":"m","global":"g"}`, Reply: reply},
		guesttest.Exchange{Reply: string(abi.AppendReply(nil, &abi.ListPage{Rows: []abi.ListRow{{Session: full, Messages: []abi.Message{message}}, {Session: full}}, More: true}))},
		guesttest.Exchange{Reply: string(abi.AppendReply(nil, &abi.HistoryPage{Messages: []abi.Message{message, {Seq: 2, JSON: []byte(`{}`)}}, More: true}))},
	))
	if s, err := c.Get("k"); err != nil || !reflect.DeepEqual(*s, full) {
		t.Errorf("Get: %+v, %v", s, err)
	}
	if s, err := c.Resolve(&abi.ResolveRequest{SessionID: "i", Scope: &abi.Scope{Keys: []string{"k"}}, MainKey: "m", Global: "g"}); err != nil || !reflect.DeepEqual(*s, full) {
		t.Errorf("Resolve: %+v, %v", s, err)
	}
	list, err := c.List(&abi.ListRequest{Limit: 5})
	if err != nil || !list.More || len(list.Rows) != 2 || !reflect.DeepEqual(list.Rows[0], abi.ListRow{Session: full, Messages: []abi.Message{message}}) || list.Rows[1].Messages != nil {
		t.Errorf("List: %+v, %v", list, err)
	}
	history, err := c.History(&abi.HistoryRequest{SessionKey: "k", Limit: 5})
	if err != nil || !history.More || len(history.Messages) != 2 || !reflect.DeepEqual(history.Messages[0], message) {
		t.Errorf("History: %+v, %v", history, err)
	}
}

// TestWork tests the operations on runs and deliveries.
func TestWork(t *testing.T) {
	c := guest.NewClient(guesttest.NewScript(t,
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"status","runId":"r"}`, Reply: string(abi.AppendReply(nil, &abi.StatusReply{Run: &endedRun}))},
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"status","runId":"x"}`, Reply: string(abi.AppendReply(nil, &abi.StatusReply{}))},
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"waits","sessionKey":"k"}`, Reply: string(abi.AppendReply(nil, &abi.WaitsReply{Waits: new(true)}))},
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"waits","sessionKey":"l"}`, Reply: string(abi.AppendReply(nil, &abi.WaitsReply{Waits: new(false)}))},
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"run","sessionKey":"k","message":"m","context":"c","source":"s","group":"nested","noTools":true,"timeoutSeconds":60}`,
			Reply: string(abi.AppendReply(nil, &abi.RunReply{RunID: "r"}))},
		guesttest.Exchange{Namespace: "deliver", Request: `{"op":"send","sessionKey":"k","text":"t","runId":"r"}`, Reply: string(abi.AppendReply(nil, &abi.SendReply{DeliveryID: "d"}))},
		guesttest.Exchange{Namespace: "agent", Reply: `{"error":{"code":"forbidden","message":"no"}}`},
		guesttest.Exchange{Namespace: "deliver", Reply: `{"error":{}}`},
	))
	if r, err := c.Status("r"); err != nil || !reflect.DeepEqual(*r, endedRun) {
		t.Errorf("Status: %+v, %v", r, err)
	}
	if r, err := c.Status("x"); err != nil || r != nil {
		t.Errorf("Status: %+v, %v", r, err)
	}
	if yes, err := c.Waits("k"); err != nil || !yes {
		t.Errorf("Waits: %v, %v", yes, err)
	}
	if yes, err := c.Waits("l"); err != nil || yes {
		t.Errorf("Waits: %v, %v", yes, err)
	}
	run := abi.RunRequest{SessionKey: "k", Message: "m", Context: "c", Source: "s", Group: abi.GroupNested, NoTools: true, TimeoutSeconds: 60}
	if id, err := c.Run(&run); err != nil || id != "r" {
		t.Errorf("Run: %q, %v", id, err)
	}
	if id, err := c.Send(&abi.SendRequest{SessionKey: "k", Text: "t", RunID: "r"}); err != nil || id != "d" {
		t.Errorf("Send: %q, %v", id, err)
	}
	var f *guest.Fault
	if _, err := c.Run(&run); !errors.As(err, &f) || f.Err.Code != abi.Forbidden || f.Err.Message != "no" {
		t.Errorf("Run: %v", err)
	}
	if _, err := c.Send(&abi.SendRequest{}); !errors.Is(err, abi.Internal) || err.Error() != "the host refused deliver.send" {
		t.Errorf("Send: %v", err)
	}
}

func TestNoSession(t *testing.T) {
	c := guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Reply: `{"ok":{"session":null}}`}))
	if s, err := c.Get("k"); s != nil || err != nil {
		t.Errorf("Get: %+v, %v", s, err)
	}
}

// A member of the wrong type reads as absent.
func TestMembersOfWrongType(t *testing.T) {
	c := guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Reply: `{"more":[],"ok":{"x":1,"session":{"key":"k","label":5,"deliveryContext":"x","contextTokens":"7","systemSent":1,"lastTo":null,"new":{}}}}`}))
	s, err := c.Get("k")
	if err != nil || !reflect.DeepEqual(*s, abi.Session{Key: "k"}) {
		t.Errorf("Get: %+v, %v", s, err)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		reply string
		code  abi.Code
		text  string
	}{
		{`{"error":{"code":"limit","message":"too much"}}`, abi.Limit, "too much"},
		{`{"error":{"code":"strange","message":"x"}}`, abi.Internal, "x"},
		{`{"error":{}}`, abi.Internal, "the host refused"},
		{`{"error":"x"}`, abi.Internal, "the host refused"},
		{``, abi.Internal, "does not have the form"},
		{`7`, abi.Internal, "does not have the form"},
		{`{"ok":{}}`, abi.Internal, "does not have the form"},
		{`{"ok":null}`, abi.Internal, "does not have the form"},
		{`{"ok":{"session":{}}}`, abi.Internal, "does not have the form"},
		{`{"ok":{"session":{"key":"k"`, abi.Internal, "does not have the form"},
	}
	for _, tt := range tests {
		_, err := guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Reply: tt.reply})).Get("k")
		var f *guest.Fault
		if !errors.As(err, &f) || !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v; want %s, %s", tt.reply, err, tt.code, tt.text)
		}
	}
}

// replies contains a reply for each operation, with the call that requests it.
var replies = map[string]func(*guest.Client) error{
	string(abi.AppendReply(nil, &abi.SessionReply{Session: &full})): func(c *guest.Client) error {
		_, err := c.Get("k")
		return err
	},
	string(abi.AppendReply(nil, &abi.ListPage{Rows: []abi.ListRow{{Session: full, Messages: []abi.Message{message}}}})): func(c *guest.Client) error {
		_, err := c.List(&abi.ListRequest{Limit: 5})
		return err
	},
	string(abi.AppendReply(nil, &abi.StatusReply{Run: &endedRun})): func(c *guest.Client) error {
		_, err := c.Status("r")
		return err
	},
	string(abi.AppendReply(nil, &abi.WaitsReply{Waits: new(true)})): func(c *guest.Client) error {
		_, err := c.Waits("k")
		return err
	},
	string(abi.AppendReply(nil, &abi.RunReply{RunID: "r"})): func(c *guest.Client) error {
		_, err := c.Run(&abi.RunRequest{})
		return err
	},
	string(abi.AppendReply(nil, &abi.SendReply{DeliveryID: "d"})): func(c *guest.Client) error {
		_, err := c.Send(&abi.SendRequest{})
		return err
	},
	string(abi.AppendReply(nil, &abi.CreateReply{SessionKey: "k", SessionID: "s"})): func(c *guest.Client) error {
		_, _, err := c.Create(&abi.CreateRequest{})
		return err
	},
	string(abi.AppendDoneReply(nil)): func(c *guest.Client) error {
		return c.Archive(&abi.ArchiveRequest{})
	},
	string(abi.AppendReply(nil, &abi.HistoryPage{Messages: []abi.Message{message}})): func(c *guest.Client) error {
		_, err := c.History(&abi.HistoryRequest{Limit: 5})
		return err
	},
}

// A truncated reply is a Fault, wherever it is truncated.
func TestTruncatedReply(t *testing.T) {
	for reply, ask := range replies {
		for end := range len(reply) {
			var f *guest.Fault
			err := ask(guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Namespace: "*", Reply: reply[:end]})))
			if !errors.As(err, &f) || !errors.Is(err, abi.Internal) {
				t.Errorf("%s: %v", reply[:end], err)
			}
		}
		if err := ask(guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Namespace: "*", Reply: " " + reply + "\n"}))); err != nil {
			t.Errorf("%s: %v", reply, err)
		}
	}
}

// For every reply the client returns without a panic, and any error is a Fault.
func FuzzReply(f *testing.F) {
	for reply := range replies {
		f.Add(reply)
	}
	for _, reply := range []string{``, `{"error":{"code":"limit"}}`, `{"ok":{"rows":[[[{"session":7`, `{"ok":{"messages":[{"cut":[1,{"path":"\`, `{"ok"`} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		for _, ask := range replies {
			var fault *guest.Fault
			if err := ask(guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Namespace: "*", Reply: reply}))); err != nil && !errors.As(err, &fault) {
				t.Errorf("%q: %v", reply, err)
			}
		}
	})
}

func TestParse(t *testing.T) {
	caller := abi.Caller{SessionKey: "agent:a:k", AgentID: "a", Channel: "c", To: "t", AccountID: "ac", ThreadID: "th", Sandboxed: true, Depth: 1, Hops: 2, RunID: "r"}
	call := abi.CallInput{FlowID: "f", Step: 1, CallID: "c", Now: 5, AcceptedAt: 4, Tool: "x", Args: []byte(`{"a":1}`), Caller: caller, Config: []byte(`{"b":2}`)}
	in, err := guest.ParseCall(string(call.AppendJSON(nil)))
	if want := (guest.Input{FlowID: "f", Step: 1, Now: 5, AcceptedAt: 4, Tool: "x", Args: `{"a":1}`, Caller: caller, Config: `{"b":2}`}); err != nil || !reflect.DeepEqual(*in, want) {
		t.Errorf("call: %+v, %v", in, err)
	}
	event := abi.Event{Type: abi.EventRun, At: 6, Run: &endedRun}
	resume := abi.ResumeInput{FlowID: "f", Step: 2, Now: 5, AcceptedAt: 4, State: []byte(`{"c":3}`), StateVersion: 3, Event: &event, Caller: caller}
	in, err = guest.ParseResume(string(resume.AppendJSON(nil)))
	if want := (guest.Input{FlowID: "f", Step: 2, Now: 5, AcceptedAt: 4, State: `{"c":3}`, StateVersion: 3, Event: &event, Caller: caller, Config: `{}`}); err != nil || !reflect.DeepEqual(*in, want) {
		t.Errorf("resume: %+v, %v", in, err)
	}
	// The members that identify the caller must be present and valid.
	for doc, ok := range map[string]bool{
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":0,"hops":0`:              true,
		`"sessionKey":"agent:a:k","agentId":"a","sandboxed":true,"depth":1,"hops":7`: true,
		`"sessionKey":"global","agentId":"a","sandboxed":true,"depth":0,"hops":0`:    true,
		`"operator":true,"sandboxed":false,"depth":0,"hops":0`:                       true,

		``:                                    false,
		`"sandboxed":true,"depth":0,"hops":0`: false,
		`"operator":false,"sandboxed":false,"depth":0,"hops":0`:                                    false,
		`"operator":"true","sandboxed":false,"depth":0,"hops":0`:                                   false,
		`"operator":true,"sessionKey":"agent:a:k","sandboxed":false,"depth":0,"hops":0`:            false,
		`"sessionKey":"agent:a:k","depth":0,"hops":0`:                                              false,
		`"sessionKey":"agent:a:k","sandboxed":false,"hops":0`:                                      false,
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":0`:                                     false,
		`"sessionKey":"agent:a:k","sandboxed":"false","depth":0,"hops":0`:                          false,
		`"sessionKey":"agent:a:k","sandboxed":null,"depth":0,"hops":0`:                             false,
		`"sessionKey":"agent:a:k","sandboxed":0,"depth":0,"hops":0`:                                false,
		`"sessionKey":"agent:a:k","Sandboxed":true,"depth":0,"hops":0`:                             false,
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":0,"hops":0,"Operator":true`:            false,
		`"sessionKey":"agent:a:k","agentId":"b","sandboxed":false,"depth":0,"hops":0`:              false,
		`"sessionKey":["agent:a:k"],"sandboxed":false,"depth":0,"hops":0`:                          false,
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":"1","hops":0`:                          false,
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":0.5,"hops":0`:                          false,
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":0,"hops":0,"channel":7`:                false,
		`"sessionKey":"agent:a:k","sandboxed":false,"depth":0,"hops":0,"threadId":{"id":"thread"}`: false,
	} {
		if _, err := guest.ParseCall(`{"abi":1,"caller":{` + doc + `}}`); (err == nil) != ok {
			t.Errorf("S0.3 caller {%s}: %v", doc, err)
		}
	}
	if _, err := guest.ParseCall(`{"abi":1,"caller":"x"}`); err == nil {
		t.Error("a string was accepted as caller")
	}
	const child = `{"abi":1,"caller":{"sessionKey":"agent:a:subagent:1","sandboxed":false,"depth":0,"hops":0}}`
	if in, err := guest.ParseCall(child); err != nil || in.Caller.Depth != 1 {
		t.Errorf("S5.4 child with depth 0 in the input: %+v, %v", in, err)
	}
	const operator = `{"abi":1,"caller":{"operator":true,"sandboxed":false,"depth":0,"hops":0}`
	for doc, ok := range map[string]bool{
		`null`:                     true,
		`{"type":"time","at":1}`:   true,
		`{"type":"cancel","at":1}`: true,
		`{"type":"run","at":1,"run":{"id":"r","status":"killed"}}`:                                          true,
		`{"type":"run","at":1,"run":{"id":"r","status":"done","reply":"x","usage":{"input":1,"cost":0.5}}}`: true,

		`{}`:                            false,
		`[]`:                            false,
		`"time"`:                        false,
		`{"type":"time"}`:               false,
		`{"type":"Time","at":1}`:        false,
		`{"type":"time","at":1,"x":1}`:  false,
		`{"type":"run","at":1}`:         false,
		`{"type":"run","at":1,"run":7}`: false,
		`{"type":"run","at":1,"run":{"id":"","status":"done"}}`:                        false,
		`{"type":"run","at":1,"run":{"id":"r","status":"running"}}`:                    false,
		`{"type":"run","at":1,"run":{"id":"r"}}`:                                       false,
		`{"type":"run","at":1,"run":{"id":"r","status":"done","reply":5}}`:             false,
		`{"type":"run","at":1,"run":{"id":"r","status":"done","Reply":"x"}}`:           false,
		`{"type":"run","at":1,"run":{"id":"r","status":"done","usage":{"input":"1"}}}`: false,
	} {
		if in, err := guest.ParseResume(operator + `,"event":` + doc + `}`); (err == nil) != ok || err == nil && (in.Event == nil) != (doc == "null") {
			t.Errorf("event %s: %+v, %v", doc, in, err)
		}
	}
	for _, member := range []string{`"Args":{}`, `"state":null`, `"stateVersion":1`, `"event":null`} {
		if _, err := guest.ParseCall(operator + `,` + member + `}`); err == nil || err.Code != abi.InvalidArgs {
			t.Errorf("call with %s: %v", member, err)
		}
	}
	for _, member := range []string{`"State":{}`, `"callId":"c"`, `"tool":"t"`, `"args":{}`} {
		if _, err := guest.ParseResume(operator + `,` + member + `}`); err == nil || err.Code != abi.InvalidArgs {
			t.Errorf("resume with %s: %v", member, err)
		}
	}
}
