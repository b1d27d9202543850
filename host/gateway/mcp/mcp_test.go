package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/store"
)

// fake implements gateway.Tools. Its tools answer with their caller, or with the error or
// result that Call selects by the arguments.
type fake struct {
	mu    sync.Mutex
	calls []host.Call
	gate  chan struct{} // when set, a call of "wait" blocks until it is closed

	started map[string]bool // ids of the calls of "wait"
	waits   chan string     // if set, receives the id of each call that begins to wait

	listErr error // returned by ToolsFor
}

var _ gateway.Tools = (*fake)(nil)

func (f *fake) Tools() []abi.Tool {
	in, out := []byte(`{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}`), []byte(`{"type":"object"}`)
	return []abi.Tool{
		{Name: "echo", Description: "Echoes.", InputSchema: in, OutputSchema: out, ReadOnly: true},
		{Name: "wait", Description: "Waits.", InputSchema: in, OutputSchema: out},
	}
}

// ToolsFor omits "wait" for the runs of children.
func (f *fake) ToolsFor(_ context.Context, c abi.Caller) ([]abi.Tool, error) {
	if f.listErr != nil {
		return nil, f.listErr
	}
	return slices.DeleteFunc(f.Tools(), func(t abi.Tool) bool { return c.RunID != "" && c.Depth > 0 && t.Name == "wait" }), nil
}

func (f *fake) Call(ctx context.Context, c *host.Call) (*host.Answer, error) {
	f.mu.Lock()
	f.calls = append(f.calls, *c)
	f.mu.Unlock()
	id := c.ID
	if id == "" {
		id = "made"
	}
	if c.Tool == "wait" {
		f.mu.Lock()
		if f.started == nil {
			f.started = map[string]bool{}
		}
		f.started[id] = true
		f.mu.Unlock()
		c.Wait.Suspend()
		defer c.Wait.Resume()
		if f.waits != nil {
			f.waits <- id
		}
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch string(c.Args) {
	case `{"n":1}`:
		return &host.Answer{CallID: id, Result: []byte(`{"status":"forbidden","error":"no"}`), Code: abi.Forbidden}, nil
	case `{"n":2}`:
		return nil, abi.NewError(abi.Limit, "the step took too long")
	case `{"n":3}`:
		return nil, errors.New("secret detail")
	case `{"n":6}`:
		return nil, &abi.Error{Code: abi.Limit, Message: "secret.db: the disk is full", Cause: store.ErrFull}
	case `{"n":5}`:
		return nil, abi.NewError(abi.Conflict, "flow f_1 was ended by the operator")
	case `{"n":4}`:
		return nil, abi.NewError(abi.InvalidArgs, "args: wrong")
	}
	return &host.Answer{CallID: id, Result: []byte(`{"caller":"` + c.Caller.SessionKey + `","sandboxed":` + map[bool]string{true: "true", false: "false"}[c.Caller.Sandboxed] + `,"big":9007199254740991}`)}, nil
}

func (f *fake) last() host.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1]
}

func newServer(t *testing.T, f *fake) *Server {
	t.Helper()
	s := New(f, &Options{Name: "parley", Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(s.Close)
	return s
}

// testSession makes the same client calls over any transport. caller is the session key
// that the server must use for the client.
func testSession(t *testing.T, f *fake, session *sdk.ClientSession, caller string) {
	t.Helper()
	ctx := t.Context()
	if name := session.InitializeResult().ServerInfo.Name; name != "parley" {
		t.Errorf("the server is %q", name)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tools.Tools) != 2 || tools.Tools[0].Name != "echo" || tools.Tools[0].Description != "Echoes." || !tools.Tools[0].Annotations.ReadOnlyHint || tools.Tools[1].Annotations.ReadOnlyHint {
		t.Errorf("tools: %+v", tools.Tools)
	}
	if a := tools.Tools[1].Annotations; *a.DestructiveHint || a.IdempotentHint || !*a.OpenWorldHint || *tools.Tools[0].Annotations.OpenWorldHint {
		t.Errorf("annotations: %+v and %+v", tools.Tools[0].Annotations, a)
	}
	want := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "number"}}, "additionalProperties": false}
	if d := cmp.Diff(want, tools.Tools[0].InputSchema); d != "" {
		t.Error(d)
	}

	t.Run("result", func(t *testing.T) {
		r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Meta: sdk.Meta{"callId": " my-call "}})
		if err != nil {
			t.Fatal(err)
		}
		text := "{\n  \"caller\": \"" + caller + "\",\n  \"sandboxed\": true,\n  \"big\": 9007199254740991\n}"
		if len(r.Content) != 1 || r.Content[0].(*sdk.TextContent).Text != text || r.IsError || r.Meta["callId"] != "my-call" {
			t.Errorf("%+v", r)
		}
		var fromText any
		if err := json.Unmarshal([]byte(text), &fromText); err != nil || !cmp.Equal(fromText, r.StructuredContent) {
			t.Errorf("structured content differs: %v, %v", r.StructuredContent, err)
		}
		if f.last().ID != "my-call" || string(f.last().Args) != "{}" {
			t.Errorf("called %+v", f.last())
		}
	})
	t.Run("refusal", func(t *testing.T) {
		r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 1}})
		if err != nil || !r.IsError || r.Meta["callId"] != "made" {
			t.Fatalf("%+v, %v", r, err)
		}
		if d := cmp.Diff(map[string]any{"status": "forbidden", "error": "no"}, r.StructuredContent); d != "" {
			t.Error(d)
		}
	})
	t.Run("arguments unchanged", func(t *testing.T) {
		if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"unknown":[1e2]}`)}); err != nil {
			t.Fatal(err)
		}
		if got := string(f.last().Args); got != `{"unknown":[1e2]}` {
			t.Errorf("the plugin received %s", got)
		}
	})
	for name, c := range map[string]struct {
		params  sdk.CallToolParams
		code    int64
		message string
	}{
		"unknown tool":     {sdk.CallToolParams{Name: "none"}, jsonrpc.CodeInvalidParams, `unknown tool "none"`},
		"wrong arguments":  {sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 4}}, jsonrpc.CodeInvalidParams, "args: wrong"},
		"limit":            {sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 2}}, jsonrpc.CodeInternalError, "the step took too long"},
		"conflict":         {sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 5}}, jsonrpc.CodeInternalError, "flow f_1 was ended by the operator"},
		"full disk":        {sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 6}}, jsonrpc.CodeInternalError, "the gateway's disk is full and nothing was accepted: call again when there is room, with the same _meta.callId"},
		"internal":         {sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"n": 3}}, jsonrpc.CodeInternalError, "the call failed; the gateway's log has the details"},
		"callId no string": {sdk.CallToolParams{Name: "echo", Meta: sdk.Meta{"callId": 5}}, jsonrpc.CodeInvalidParams, "_meta.callId must be a string"},
		"call id too long": {sdk.CallToolParams{Name: "echo", Meta: sdk.Meta{"callId": strings.Repeat("x", 300)}}, jsonrpc.CodeInvalidParams, "longer than 256 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := session.CallTool(ctx, &c.params)
			var e *jsonrpc.Error
			if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.message) {
				t.Errorf("got %v, want code %d and %q", err, c.code, c.message)
			}
		})
	}
	t.Run("concurrent calls", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func connect(t *testing.T, tr sdk.Transport, version string) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, nil).Connect(t.Context(), tr, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

var sandboxed = abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops", Sandboxed: true}

// A gateway starts even if the SDK rejects a tool's schema.
func TestNewSkipsInvalidSchemas(t *testing.T) {
	for _, schema := range []string{`{}`, `{"type":"array"}`} {
		var log bytes.Buffer
		bad := named("x", "")
		bad.InputSchema = []byte(schema)
		s := New(tools{bad, named("y", "")}, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer s.Close()
		if len(s.offered) != 1 || s.offered[0].Name != "y" {
			t.Errorf("%s: the offered tools are %+v", schema, s.offered)
		}
		if !strings.Contains(log.String(), "tool=x ") {
			t.Errorf("%s: the log is %s", schema, &log)
		}
	}
}

type tools []abi.Tool

func (t tools) Tools() []abi.Tool                                        { return t }
func (t tools) ToolsFor(context.Context, abi.Caller) ([]abi.Tool, error) { return t, nil }
func (tools) Call(context.Context, *host.Call) (*host.Answer, error) {
	return nil, abi.NewError(abi.Internal, "")
}
