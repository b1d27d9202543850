package abi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// TestEncoders pins the JSON of every message: required members are always written,
// optional ones only when set.
func TestEncoders(t *testing.T) {
	yes, n, cost := true, int64(0), 0.0125
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"call", (&abi.CallInput{FlowID: "f", Step: 1, CallID: "c", Now: 2, AcceptedAt: 1, Tool: "t", Caller: abi.Caller{Operator: true}}).AppendJSON(nil),
			`{"abi":1,"flowId":"f","step":1,"callId":"c","now":2,"acceptedAt":1,"tool":"t","args":{},"caller":{"sandboxed":false,"depth":0,"hops":0,"operator":true},"config":{}}`},
		{"resume", (&abi.ResumeInput{FlowID: "f", Step: 2, Now: 3, AcceptedAt: 1, State: []byte(`{"a":1}`), StateVersion: 1, Event: &abi.Event{Type: abi.EventTime, At: 3}, Caller: abi.Caller{SessionKey: "agent:a:main", AgentID: "a", Channel: "c", To: "t", AccountID: "x", ThreadID: "1", Sandboxed: true, Depth: 1, Hops: 2}}).AppendJSON(nil),
			`{"abi":1,"flowId":"f","step":2,"now":3,"acceptedAt":1,"state":{"a":1},"stateVersion":1,"event":{"type":"time","at":3},"caller":{"sessionKey":"agent:a:main","agentId":"a","channel":"c","to":"t","accountId":"x","threadId":"1","sandboxed":true,"depth":1,"hops":2},"config":{}}`},
		{"resume without state", (&abi.ResumeInput{}).AppendJSON(nil),
			`{"abi":1,"flowId":"","step":0,"now":0,"acceptedAt":0,"state":null,"stateVersion":0,"event":null,"caller":{"sandboxed":false,"depth":0,"hops":0},"config":{}}`},
		{"description", (&abi.Description{ABI: 1, Name: "p", Version: "1", StateVersion: 2, Resumes: [2]int{1, 2}, Capabilities: []string{"store.list"}, Tools: []abi.Tool{{Name: "t", Description: "d", InputSchema: []byte("{}"), OutputSchema: []byte("{}"), ReadOnly: true}}}).AppendJSON(nil),
			`{"abi":1,"name":"p","version":"1","stateVersion":2,"resumes":[1,2],"capabilities":["store.list"],"tools":[{"name":"t","description":"d","inputSchema":{},"outputSchema":{},"readOnly":true,"needs":[]}]}`},
		{"result", abi.AppendResult(nil, []byte(`{}`), ""), `{"result":{}}`},
		{"failure", abi.AppendResult(nil, []byte(`{}`), abi.NotFound), `{"result":{},"code":"not_found"}`},
		{"error", abi.AppendError(nil, abi.Limit, "no"), `{"error":{"code":"limit","message":"no"}}`},
		{"unknown code", abi.AppendError(nil, "teapot", "no"), `{"error":{"code":"internal","message":"no"}}`},
		{"get", (&abi.GetRequest{SessionKey: "k"}).AppendJSON(nil), `{"op":"get","sessionKey":"k"}`},
		{"resolve", (&abi.ResolveRequest{SessionID: "s", Scope: &abi.Scope{}, MainKey: "m", Global: "a"}).AppendJSON(nil), `{"op":"resolve","sessionId":"s","scope":{},"mainKey":"m","global":"a"}`},
		{"list, least", (&abi.ListRequest{Limit: 5}).AppendJSON(nil), `{"op":"list","limit":5}`},
		{"list, all", (&abi.ListRequest{Scope: &abi.Scope{Agents: []string{"a*"}, Keys: []string{"k"}, SpawnedBy: "p"}, Kinds: []string{"cron"}, MainKey: "m", Global: "g", AgentID: "a", Label: "l", Search: "s", ActiveSince: 1, IncludeArchived: true, After: &abi.Position{UpdatedAt: 2, Key: "k"}, Limit: 5, Messages: 3, MaxBytes: 9}).AppendJSON(nil),
			`{"op":"list","scope":{"agents":["a*"],"keys":["k"],"spawnedBy":"p"},"kinds":["cron"],"mainKey":"m","global":"g","agentId":"a","label":"l","search":"s","activeSince":1,"includeArchived":true,"after":{"updatedAt":2,"key":"k"},"limit":5,"messages":3,"maxBytes":9}`},
		{"history", (&abi.HistoryRequest{SessionKey: "k", Before: 1, Skip: 2, Limit: 3, ExcludeRoles: []string{"tool"}, MaxBytes: 4}).AppendJSON(nil),
			`{"op":"history","sessionKey":"k","before":1,"skip":2,"limit":3,"excludeRoles":["tool"],"maxBytes":4}`},
		{"status", (&abi.StatusRequest{RunID: "r"}).AppendJSON(nil), `{"op":"status","runId":"r"}`},
		{"no session", abi.AppendReply(nil, &abi.SessionReply{}), `{"ok":{"session":null}}`},
		{"session, all", abi.AppendReply(nil, &abi.SessionReply{Session: &abi.Session{Key: "k", AgentID: "a", Kind: "other", SessionID: "s", UpdatedAt: 1, Label: "l", DisplayName: "d", Subject: "u", ChatType: "direct", Channel: "c", DeliveryContext: abi.Target{Channel: "c", To: "t", AccountID: "x", ThreadID: "1"}, LastChannel: "c", LastTo: "t", LastAccountID: "x", LastThreadID: "1", Model: "m", ModelOverride: "o", ContextTokens: &n, TotalTokens: &n, ThinkingLevel: "high", VerboseLevel: "on", SystemSent: &yes, AbortedLastRun: &yes, SendPolicy: "deny", SpawnedBy: "p", Sandboxed: true, Status: "done", ArchivedAt: 2, TranscriptPath: "/t"}}),
			`{"ok":{"session":{"key":"k","agentId":"a","kind":"other","sessionId":"s","updatedAt":1,"label":"l","displayName":"d","subject":"u","chatType":"direct","channel":"c","deliveryContext":{"channel":"c","to":"t","accountId":"x","threadId":"1"},"lastChannel":"c","lastTo":"t","lastAccountId":"x","lastThreadId":"1","model":"m","modelOverride":"o","contextTokens":0,"totalTokens":0,"thinkingLevel":"high","verboseLevel":"on","systemSent":true,"abortedLastRun":true,"sendPolicy":"deny","spawnedBy":"p","sandboxed":true,"status":"done","archivedAt":2,"transcriptPath":"/t"}}}`},
		{"list page", abi.AppendReply(nil, &abi.ListPage{Rows: []abi.ListRow{{Session: abi.Session{Key: "k"}}, {Messages: []abi.Message{}}}, More: true}),
			`{"ok":{"rows":[{"session":{"key":"k","agentId":"","kind":"","sessionId":"","updatedAt":0}},{"session":{"key":"","agentId":"","kind":"","sessionId":"","updatedAt":0},"messages":[]}],"more":true}}`},
		{"history page", abi.AppendReply(nil, &abi.HistoryPage{Messages: []abi.Message{{Seq: 2, JSON: []byte(`{}`), Truncations: []abi.Truncation{{Path: "/a", Bytes: 9}, {Path: "/b", Bytes: 8}}}, {Seq: 1, JSON: []byte(`{}`)}}}),
			`{"ok":{"messages":[{"seq":2,"message":{},"cut":[{"path":"/a","bytes":9},{"path":"/b","bytes":8}]},{"seq":1,"message":{}}],"more":false}}`},
		{"no run", abi.AppendReply(nil, &abi.StatusReply{}), `{"ok":{"run":null}}`},
		{"run", abi.AppendReply(nil, &abi.StatusReply{Run: &abi.Run{ID: "r", Status: "done", Reply: "hi", Error: "e", Model: "m", StartedAt: 1, EndedAt: 2}}),
			`{"ok":{"run":{"id":"r","status":"done","reply":"hi","error":"e","model":"m","startedAt":1,"endedAt":2}}}`},
		{"run, its usage", abi.AppendReply(nil, &abi.StatusReply{Run: &abi.Run{ID: "r", Status: "done", Usage: &abi.Usage{Input: &n, Output: &n, Total: &n, Cost: &cost}}}),
			`{"ok":{"run":{"id":"r","status":"done","usage":{"input":0,"output":0,"total":0,"cost":0.0125}}}}`},
		{"create, least", (&abi.CreateRequest{AgentID: "a"}).AppendJSON(nil), `{"op":"create","agentId":"a"}`},
		{"create, all", (&abi.CreateRequest{AgentID: "a", Label: "l\"", Model: "m", ThinkingLevel: "high", MaxActive: 5}).AppendJSON(nil),
			`{"op":"create","agentId":"a","label":"l\"","model":"m","thinkingLevel":"high","maxActive":5}`},
		{"created", abi.AppendReply(nil, &abi.CreateReply{SessionKey: "k", SessionID: "s"}), `{"ok":{"sessionKey":"k","sessionId":"s"}}`},
		{"archive", (&abi.ArchiveRequest{SessionKey: "k"}).AppendJSON(nil), `{"op":"archive","sessionKey":"k"}`},
		{"delete", (&abi.DeleteRequest{SessionKey: "k"}).AppendJSON(nil), `{"op":"delete","sessionKey":"k"}`},
		{"archived, deleted", abi.AppendDoneReply(nil), `{"ok":{}}`},
		{"run, least", (&abi.RunRequest{SessionKey: "k", Message: "m", Group: abi.GroupSubagent}).AppendJSON(nil), `{"op":"run","sessionKey":"k","message":"m","group":"subagent"}`},
		{"run, all", (&abi.RunRequest{SessionKey: "k", Message: "m", Context: "c", Source: "s", Group: abi.GroupNested, NoTools: true, TimeoutSeconds: 60}).AppendJSON(nil),
			`{"op":"run","sessionKey":"k","message":"m","context":"c","source":"s","group":"nested","noTools":true,"timeoutSeconds":60}`},
		{"send, least", (&abi.SendRequest{SessionKey: "k", Text: "t"}).AppendJSON(nil), `{"op":"send","sessionKey":"k","text":"t"}`},
		{"send, all", (&abi.SendRequest{SessionKey: "k", Text: "t", RunID: "r", AtCall: true}).AppendJSON(nil), `{"op":"send","sessionKey":"k","text":"t","runId":"r","atCall":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if string(tt.got) != tt.want {
				t.Errorf("got  %s\nwant %s", tt.got, tt.want)
			}
			if err := jsonstrict.Check(tt.got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestErrorMatchesCode(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("layer: %w", &abi.Error{Code: abi.Limit, Message: "too much", Cause: cause})
	if !errors.Is(err, abi.Limit) || errors.Is(err, abi.Internal) || !errors.Is(err, cause) {
		t.Errorf("%v: want a match with abi.Limit and with the cause only", err)
	}
	if (&abi.Error{Code: abi.Limit}).Error() != "limit" {
		t.Error("the text of an error without a message is not its code")
	}
}

func TestIsWrite(t *testing.T) {
	for _, op := range []string{abi.OpCreate, abi.OpArchive, abi.OpDelete} {
		if !abi.IsWrite(abi.ImportStore, op) {
			t.Errorf("IsWrite(store, %s) = false, want true", op)
		}
	}
	for namespace, ops := range abi.Writes {
		for _, op := range ops {
			if !abi.IsWrite(namespace, op) {
				t.Errorf("IsWrite(%s, %s) = false, want true", namespace, op)
			}
		}
	}
	for _, read := range [][2]string{{"store", "get"}, {"store", "run"}, {"agent", "status"}, {"other", "create"}, {"agent", "archive"}, {"deliver", "delete"}} {
		if abi.IsWrite(read[0], read[1]) {
			t.Errorf("IsWrite(%s, %s) = true, want false", read[0], read[1])
		}
	}
}
