package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/store"
)

// fakeOwner implements an owner's API with one row of each kind. Every field that the
// encoding must preserve is set.
type fakeOwner struct {
	gateway.Chat // not called

	load    func(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error)
	filter  store.Filter
	tree    host.TreeQuery
	changed string
	swapped host.PluginFile
	waits   chan bool // if set, receives when WaitFlow begins to wait; the wait lasts until its ctx ends
}

var (
	number = int64(7)

	flowRow = &store.Flow{
		ID: "f_1", Call: store.CallKey{Scope: "operator", ID: "c"}, Digest: "d", Tool: "sessions_send",
		Caller: abi.Caller{SessionKey: "agent:a:main", AgentID: "a", Sandboxed: true, Hops: 2, RunID: "r_0"}, Plugin: "parley 1",
		Step: 2, Status: store.FlowParked, State: json.RawMessage(`{"n":1}`), StateVersion: 3, WaitRun: "r_1", WaitUntil: 5,
		Sessions: []string{"agent:b:main"}, Answer: json.RawMessage(`{"status":"ok"}`), Code: abi.Forbidden,
		Failures: 2, Error: "trap", Note: "turn 1", AcceptedAt: 1, AnsweredAt: 2, UpdatedAt: 3, EndedAt: 4,
	}
	runRow = &store.Run{
		ID: "r_1", Seq: 9, SessionKey: "agent:b:main", AgentID: "b", Group: abi.GroupNested, FlowID: "f_1", Scope: "operator",
		Message: "hi", Provenance: json.RawMessage(`{"kind":"inter_session"}`), Status: abi.RunDone, Attempt: 2, Reply: "ok",
		Usage: &abi.Usage{Input: &number}, QueuedAt: 1, StartedAt: 2, EndedAt: 3,
	}
	treeRow = &host.Tree{More: true, Roots: []*host.TreeNode{
		{Key: "agent:a:gone", Missing: true, More: true, Children: []*host.TreeNode{{
			Key: "agent:a:subagent:1", SessionID: "s", Label: "l", Status: "queued", UpdatedAt: 1, ArchivedAt: 2, Model: "m", TotalTokens: &number,
			RunID: "r_1", FlowID: "f_1", FlowStatus: "waiting", Report: "waiting for it",
		}}},
	}}
	deliveryRow = &store.Delivery{
		ID: "d_1", SessionKey: "agent:b:main", RunID: "r_1", FlowID: "f_1", Text: "t",
		Target: abi.Target{Channel: "telegram", To: "1", ThreadID: "2"}, Status: store.DeliveryFailed, Attempts: 4, Error: "401", CreatedAt: 1, UpdatedAt: 2, EndedAt: 3,
	}
)

func (k *fakeOwner) requireID(id, want string) error {
	if id != want {
		return abi.NewError(abi.NotFound, "there is no "+id)
	}
	return nil
}

func (k *fakeOwner) Status() *local.Status { return &status }

func (k *fakeOwner) Keys() sessionkey.Settings { return status.Keys }

func (k *fakeOwner) Import(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error) {
	return k.load(ctx, dir, progress)
}

func (k *fakeOwner) Tools() []abi.Tool {
	return []abi.Tool{{Name: "t", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`)}}
}

// ToolsFor returns no tools for the runs of children.
func (k *fakeOwner) ToolsFor(_ context.Context, c abi.Caller) ([]abi.Tool, error) {
	if c.RunID != "" && c.Depth > 0 {
		return nil, nil
	}
	return k.Tools(), nil
}

func (k *fakeOwner) Call(_ context.Context, c *host.Call) (*host.Answer, error) {
	return &host.Answer{CallID: c.ID, FlowID: "f_1", Result: []byte(`{"who":"` + c.Caller.RunID + `"}`)}, nil
}

func (k *fakeOwner) Flows(_ context.Context, f *store.Filter) ([]*store.Flow, error) {
	k.filter = *f
	return []*store.Flow{flowRow}, nil
}

func (k *fakeOwner) Runs(context.Context, *store.Filter) ([]*store.Run, error) {
	return []*store.Run{runRow}, nil
}

func (k *fakeOwner) Deliveries(context.Context, *store.Filter) ([]*store.Delivery, error) {
	return []*store.Delivery{deliveryRow}, nil
}
func (k *fakeOwner) Flow(_ context.Context, id string) (*store.Flow, error) {
	return flowRow, k.requireID(id, "f_1")
}

func (k *fakeOwner) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	if k.waits == nil {
		return flowRow, k.requireID(id, "f_1")
	}
	k.waits <- true
	<-ctx.Done()
	return nil, ctx.Err()
}

func (k *fakeOwner) Tree(_ context.Context, q *host.TreeQuery) (*host.Tree, error) {
	k.tree = *q
	return treeRow, k.requireID(q.Key, "agent:a:x y&z")
}

func (k *fakeOwner) Run(_ context.Context, id string) (*store.Run, error) {
	return runRow, k.requireID(id, "r_1")
}

func (k *fakeOwner) AbortRun(_ context.Context, id, why string) (*store.Run, error) {
	k.changed = "abort because " + why
	if id == "r_done" {
		return nil, abi.NewError(abi.Conflict, "it has ended")
	}
	return runRow, k.requireID(id, "r_1")
}

func (k *fakeOwner) RetryFlow(_ context.Context, id string) error {
	k.changed = "retry"
	return k.requireID(id, "f_1")
}

func (k *fakeOwner) DropFlow(_ context.Context, id string) error {
	k.changed = "drop"
	return k.requireID(id, "f_1")
}

func (k *fakeOwner) ResendDelivery(_ context.Context, id string) error {
	k.changed = "resend"
	return k.requireID(id, "d_1")
}

// serveFake becomes the owner of a new database and serves k with the real API.
func serveFake(t *testing.T, k *fakeOwner) (*local.Owner, *httpapi.API, *local.Client) {
	t.Helper()
	db := filepath.Join(t.TempDir(), "a.db")
	lock, err := local.Acquire(t.Context(), db, ownership(t, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	socket := httpapi.NewLocal(k, k, nil)
	lock.Handle(socket)
	peer, err := local.Dial(t.Context(), db, ownership(t, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := local.NewClient(t.Context(), peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return lock, socket, c
}

func same(t *testing.T, want, got any, err error) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func TestWork(t *testing.T) {
	k := &fakeOwner{}
	_, _, c := serveFake(t, k)
	ctx := t.Context()

	filter := store.Filter{Statuses: []string{"waiting", "parked"}, SessionKey: "agent:a:x y&z", FlowID: "f/1", Since: 5, Limit: 6}
	flows, err := c.Flows(ctx, &filter)
	same(t, []*store.Flow{flowRow}, flows, err)
	same(t, filter, k.filter, nil)
	_, err = c.Flows(ctx, nil)
	same(t, store.Filter{}, k.filter, err)
	runs, err := c.Runs(ctx, nil)
	same(t, []*store.Run{runRow}, runs, err)
	deliveries, err := c.Deliveries(ctx, &store.Filter{})
	same(t, []*store.Delivery{deliveryRow}, deliveries, err)
	flow, err := c.Flow(ctx, "f_1")
	same(t, flowRow, flow, err)
	flow, err = c.WaitFlow(ctx, "f_1")
	same(t, flowRow, flow, err)

	run, err := c.Run(ctx, "r_1")
	same(t, runRow, run, err)
	run, err = c.AbortRun(ctx, "r_1", "enough \"\n")
	same(t, runRow, run, err)
	same(t, "abort because enough \"\n", k.changed, nil)
	run, err = c.AbortRun(ctx, "r_1", "")
	same(t, runRow, run, err)
	same(t, "abort because ", k.changed, nil)
	for id, code := range map[string]abi.Code{"r_2/..": abi.NotFound, "r_done": abi.Conflict} {
		if r, err := c.AbortRun(ctx, id, ""); r != nil || !errors.Is(err, code) {
			t.Errorf("abort %s: %v, %v", id, r, err)
		}
	}
	if r, err := c.Run(ctx, "r_2?"); r != nil || !errors.Is(err, abi.NotFound) {
		t.Errorf("another run: %v, %v", r, err)
	}

	query := host.TreeQuery{Key: "agent:a:x y&z", Limit: 6}
	tree, err := c.Tree(ctx, &query)
	same(t, treeRow, tree, err)
	same(t, query, k.tree, nil)
	if _, err := c.Tree(ctx, &host.TreeQuery{}); !errors.Is(err, abi.NotFound) {
		t.Errorf("another tree: %v", err)
	}
	same(t, host.TreeQuery{}, k.tree, nil)

	for action, do := range map[string]func(context.Context, string) error{"retry": c.RetryFlow, "drop": c.DropFlow, "resend": c.ResendDelivery} {
		id := "f_1"
		if action == "resend" {
			id = "d_1"
		}
		same(t, nil, nil, do(ctx, id))
		same(t, action, k.changed, nil)
		if err := do(ctx, "../"+id+"?x#y"); !errors.Is(err, abi.NotFound) || err.Error() != "there is no ../"+id+"?x#y" {
			t.Errorf("%s of another: %v", action, err)
		}
	}
	if f, err := c.Flow(ctx, "no"); f != nil || !errors.Is(err, abi.NotFound) {
		t.Errorf("another flow: %v, %v", f, err)
	}

	answer, err := c.Call(ctx, &host.Call{Tool: "t", ID: "c", Caller: abi.Caller{SessionKey: "agent:a:main", RunID: "r_9"}})
	same(t, &host.Answer{CallID: "c", FlowID: "f_1", Result: []byte(`{"who":"r_9"}`)}, answer, err)
}

func TestToolsFor(t *testing.T) {
	_, _, c := serveFake(t, &fakeOwner{})
	for _, tt := range []struct {
		caller abi.Caller
		want   []abi.Tool
	}{
		{abi.Caller{Operator: true}, c.Tools()},
		{abi.Caller{SessionKey: "agent:a:x y&z", AgentID: "a", To: "#1", RunID: "r_1"}, c.Tools()},
		{abi.Caller{SessionKey: "agent:a:subagent:1", AgentID: "a", Depth: 1}, c.Tools()},
		{abi.Caller{SessionKey: "agent:a:subagent:1", AgentID: "a", Depth: 1, RunID: "r_1"}, []abi.Tool{}},
	} {
		tools, err := c.ToolsFor(t.Context(), tt.caller)
		same(t, tt.want, tools, err)
	}
	if len(c.Tools()) != 1 {
		t.Errorf("the client has the tools %+v", c.Tools())
	}
}

// When an owner ends, a wait for a flow fails with ErrFree, so that the client joins the
// next owner.
func TestOwnerEndsDuringWait(t *testing.T) {
	k := &fakeOwner{waits: make(chan bool)}
	lock, socket, c := serveFake(t, k)
	got := make(chan error)
	go func() {
		_, err := c.WaitFlow(t.Context(), "f_1")
		got <- err
	}()
	<-k.waits
	lock.OnShutdown(socket.Close)
	if err := lock.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, local.ErrFree) {
		t.Errorf("the wait ended with %v", err)
	}
}
