package httpapi

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// work is a gateway.Work and gateway.Plugins with one flow, run and delivery each.
type work struct {
	filter  store.Filter // the last one
	changed []string
	swapped []host.PluginFile
}

func requireID(id, want string) error {
	if id != want {
		return abi.NewError(abi.NotFound, "there is no "+id)
	}
	return nil
}

func (w *work) Flows(_ context.Context, f *store.Filter) ([]*store.Flow, error) {
	w.filter = *f
	return []*store.Flow{{ID: "f_1", Status: store.FlowParked, Caller: abi.Caller{Operator: true}}}, nil
}

func (w *work) Runs(_ context.Context, f *store.Filter) ([]*store.Run, error) {
	w.filter = *f
	return []*store.Run{{ID: "r_1", SessionKey: "agent:a:main", Status: abi.RunDone}}, nil
}

func (w *work) Deliveries(_ context.Context, f *store.Filter) ([]*store.Delivery, error) {
	w.filter = *f
	return nil, nil
}

func (w *work) Flow(_ context.Context, id string) (*store.Flow, error) {
	return &store.Flow{ID: id}, requireID(id, "f_1")
}

// Tree returns one root, with the limit as its UpdatedAt.
func (w *work) Tree(_ context.Context, q *host.TreeQuery) (*host.Tree, error) {
	if q.Key == "none" {
		return nil, abi.NewError(abi.NotFound, "there is no session")
	}
	return &host.Tree{Roots: []*host.TreeNode{{Key: "agent:a:" + q.Key, UpdatedAt: int64(q.Limit)}}}, nil
}

// Plugins lists one version.
func (w *work) Plugins(context.Context) (*host.Plugins, error) {
	return &host.Plugins{Versions: []*host.Plugin{{Digest: "one", Status: host.PluginActive}}}, nil
}

// Swap records the module, and refuses the module "bad".
func (w *work) Swap(_ context.Context, c *host.PluginFile) (*host.SwapResult, error) {
	w.swapped = append(w.swapped, *c)
	if string(c.Wasm) == "bad" {
		return nil, abi.NewError(abi.InvalidArgs, "engine: load: not a WebAssembly module")
	}
	return &host.SwapResult{Before: "one", Active: &host.Plugin{Digest: "two"}}, nil
}

// AwaitPlugin returns the version "one", or blocks if that is the given digest.
func (w *work) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	if digest == "one" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &host.Plugin{Digest: "one"}, nil
}

func (w *work) Run(_ context.Context, id string) (*store.Run, error) {
	return &store.Run{ID: id, Status: abi.RunRunning}, requireID(id, "r_1")
}

// AbortRun aborts r_1. It fails for r_done, which has ended, and blocks for r_waiting.
func (w *work) AbortRun(ctx context.Context, id, why string) (*store.Run, error) {
	switch id {
	case "r_done":
		return nil, abi.NewError(abi.Conflict, "run r_done has ended already, as done")
	case "r_waiting":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &store.Run{ID: id, Status: abi.RunKilled, Error: why, EndedAt: 1}, w.change("abort "+id+" "+why, id, "r_1")
}

func (w *work) RetryFlow(_ context.Context, id string) error { return w.change("retry "+id, id, "f_1") }
func (w *work) DropFlow(_ context.Context, id string) error  { return w.change("drop "+id, id, "f_1") }
func (w *work) ResendDelivery(_ context.Context, id string) error {
	return w.change("resend "+id, id, "d_1")
}

func (w *work) change(action, id, want string) error {
	w.changed = append(w.changed, action)
	return requireID(id, want)
}

// WaitFlow returns f_1 at once, and blocks for f_waiting.
func (w *work) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	if id == "f_waiting" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &store.Flow{ID: id, Status: store.FlowDone}, requireID(id, "f_1")
}

func TestSocketWork(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, NewLocal(f, f, slog.New(slog.DiscardHandler)))
	for _, c := range []struct {
		method, path string
		body         string
		status       int
		want         string // in the answer
	}{
		{"GET", "/v1/flows?status=waiting&status=parked&session=agent:a:main&since=7&limit=9", "", 200, `{"flows":[{"id":"f_1",`},
		{"GET", "/v1/plugins", "", 200, `{"versions":[{"digest":"one",`},
		{"GET", "/v1/plugins/next?digest=none", "", 200, `{"digest":"one",`},
		{"POST", "/v1/plugins?origin=/a&force=true", "\x00asm", 200, `{"before":"one","active":{"digest":"two"`},
		{"POST", "/v1/plugins?force=perhaps", "\x00asm", 400, `the query's force=perhaps is wrong; known are digest`},
		{"POST", "/v1/plugins?path=/a", "\x00asm", 400, `the query's path=/a is wrong`},
		{"POST", "/v1/plugins", "", 400, `the body must be a WebAssembly module`},
		{"DELETE", "/v1/plugins", "", 405, `use GET, POST`},
		{"GET", "/v1/runs", "", 200, `{"runs":[{"id":"r_1",`},
		{"GET", "/v1/deliveries", "", 200, `{"deliveries":[]}`},
		{"GET", "/v1/flows?limit=many", "", 400, `"message":"the query's limit=many is wrong"`},
		{"GET", "/v1/flows?limit=-1", "", 400, `"message":"the query's limit=-1 is wrong"`},
		{"GET", "/v1/runs?state=done", "", 400, `"message":"the query's state=done is wrong"`},
		{"GET", "/v1/flows/f_1", "", 200, `{"id":"f_1",`},
		{"GET", "/v1/flows/f%2F..", "", 404, `"code":"not_found","message":"there is no f/.."`},
		{"GET", "/v1/flows/f_1/end", "", 200, `"status":"done"`},
		{"POST", "/v1/flows/f_1/retry", "", 200, `{}`},
		{"POST", "/v1/flows/f_2/retry", "", 404, `"code":"not_found"`},
		{"POST", "/v1/flows/f_1/drop", "", 200, `{}`},
		{"POST", "/v1/deliveries/d_1/resend", "", 200, `{}`},
		{"GET", "/v1/tree", "", 200, `{"roots":[{"key":"agent:a:"}]}`},
		{"GET", "/v1/tree?key=x%3A+y&limit=7", "", 200, `{"roots":[{"key":"agent:a:x: y","updatedAt":7}]}`},
		{"GET", "/v1/tree?key=none", "", 404, `"message":"there is no session"`},
		{"GET", "/v1/tree?limit=-1", "", 400, `"message":"the query's limit=-1 is wrong"`},
		{"GET", "/v1/tree?session=x", "", 400, `"message":"the query's session=x is wrong"`},
		{"GET", "/v1/runs/r_1", "", 200, `"status":"running"`},
		{"GET", "/v1/runs/r_2", "", 404, `"code":"not_found"`},
		{"POST", "/v1/agent/abort", `{"runId":"r_1","reason":"enough"}`, 200, `{"runId":"r_1","status":"killed"}`},
		{"POST", "/v1/agent/abort", `{"runId":"r_1"}`, 200, `"status":"killed"`},
		{"POST", "/v1/agent/abort", `{"runId":"r_2"}`, 404, `"code":"not_found"`},
		{"POST", "/v1/agent/abort", `{"runId":"r_done"}`, 409, `"code":"conflict","message":"run r_done has ended already, as done"`},
		{"POST", "/v1/agent/abort", `{"runId":"r_1","why":"enough"}`, 400, `known are runId, reason`},
		{"GET", "/v1/agent/abort", "", 405, `use POST`},
		{"POST", "/v1/chat/send", `{"sessionKey":"main","message":"hi"}`, 200, `{"runId":"r_1","status":"accepted"}`},
		{"POST", "/v1/agent", `{"sessionKey":"main","message":"hi"}`, 200, `{"runId":"r_2","status":"accepted"}`},
		{"POST", "/v1/agent/wait", `{"runId":"done"}`, 200, `{"runId":"done","status":"ok","reply":"hi"}`},
		{"POST", "/v1/chat/history", `{"sessionKey":"main"}`, 200, `{"who":"operator"}`},
		{"POST", "/v1/sessions/patch", `{"key":"agent:a:home","label":"l"}`, 200, `"kind":"main"`},
		{"GET", "/v1/status", "", 200, `"config":"/c.json5","plugin":{"digest":"","name":"parley","version":"1.2.3"},"keys":`},
		{"POST", "/v1/import", `{"dir":"/full"}`, 200, "{\"progress\":{\"Done\":1,\"Total\":9,"},
		{"POST", "/v1/import", `{"dir":"/full"}`, 200, "}}\n{\"report\":{\"dir\":\"/full\","},
		{"POST", "/v1/import", `{"dir":"/none"}`, 200, "}}\n{\"error\":{\"code\":\"not_found\",\"message\":\"there is no /none\"}}\n"},
		{"POST", "/v1/import", `{"dir":"none"}`, 400, `the body must be {\"dir\": ABSOLUTE PATH}`},
		{"POST", "/v1/import", `{`, 400, `the body must be {\"dir\": ABSOLUTE PATH}`},
		{"GET", "/v1/flows/", "", 404, `unknown path; the owner`},
		{"GET", "/v1/flows/{id}", "", 404, `there is no {id}`},
		{"GET", "/v1/flows/f_1/end/", "", 404, `unknown path; the owner`},
		{"POST", "/tools/invoke", `{"tool":"echo"}`, 404, `unknown path; the owner`},
		{"GET", "/mcp", "", 404, `unknown path; the owner`},
		{"GET", "/v1/flows/f_1/retry", "", 405, `use POST`},
		{"POST", "/v1/flows", "", 405, `use GET`},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			r := request{c.method, c.path, nil, strings.NewReader(c.body)}.send(t, url)
			if r.status != c.status || !strings.Contains(r.body, c.want) {
				t.Errorf("status %d, %s; want %d, %s", r.status, r.body, c.status, c.want)
			}
		})
	}
	if d := cmp.Diff([]string{"retry f_1", "retry f_2", "drop f_1", "resend d_1", "abort r_1 enough", "abort r_1 ", "abort r_2 "}, f.changed); d != "" {
		t.Error(d)
	}
	request{"GET", "/v1/flows?status=waiting&status=parked&session=agent:a:main&flow=f&since=7&limit=9", nil, nil}.send(t, url)
	want := store.Filter{Statuses: []string{"waiting", "parked"}, SessionKey: "agent:a:main", FlowID: "f", Since: 7, Limit: 9}
	if d := cmp.Diff(want, f.filter); d != "" {
		t.Error(d)
	}
}

// Close answers waiting requests on the socket with 503, so that their clients join the
// next owner, and lets the others finish.
func TestSocketClose(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := NewLocal(f, f, slog.New(slog.DiscardHandler))
	url := newServer(t, s)
	call := func(do string) <-chan response {
		answer := make(chan response, 1)
		go func() {
			answer <- request{"POST", "/v1/call", nil, strings.NewReader(`{"tool":"echo","args":{"do":"` + do + `"},"callId":"c"}`)}.send(t, url)
		}()
		<-f.started
		return answer
	}
	waits, works := call("flow"), call("wait")
	s.Close()
	if r := <-waits; r.status != 503 {
		t.Errorf("the waiting call: %d %s", r.status, r.body)
	}
	if r := (request{"GET", "/v1/flows/f_waiting/end", nil, nil}).send(t, url); r.status != 503 {
		t.Errorf("a wait for a flow: %d %s", r.status, r.body)
	}
	if r := (request{"POST", "/v1/agent/abort", nil, strings.NewReader(`{"runId":"r_waiting"}`)}.send(t, url)); r.status != 503 {
		t.Errorf("an abort that waits for the run's end: %d %s", r.status, r.body)
	}
	close(f.gate)
	if r := <-works; r.status != 200 {
		t.Errorf("the working call: %d %s", r.status, r.body)
	}
}
