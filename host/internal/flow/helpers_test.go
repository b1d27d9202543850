package flow_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/flow"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

const (
	caller = "agent:main:main"
	target = "agent:main:x"
)

// plugin is a plugin written in Go, with a function for each export.
type plugin struct {
	call   func(ask func(namespace, request string) gjson.Result, input gjson.Result) string
	resume func(ask func(namespace, request string) gjson.Result, input gjson.Result) string

	distrusted string
}

var _ flow.Version = (*plugin)(nil)

// Name implements flow.Version.
func (*plugin) Name() string { return "test 1" }

// Digest implements flow.Version.
func (*plugin) Digest() string { return "test" }

func (*plugin) Grants(string) error { return nil }

// Release implements flow.Version.
func (*plugin) Release() {}

// singleVersion implements flow.Versions for a plugin that has one version.
type singleVersion struct{ p *plugin }

var _ flow.Versions = singleVersion{}

// Use implements flow.Versions.
func (o singleVersion) Use() flow.Version { return o.p }

// Distrusted implements flow.Versions.
func (o singleVersion) Distrusted(string) string { return o.p.distrusted }

// UseFor implements flow.Versions.
func (o singleVersion) UseFor(context.Context, *store.Flow) (flow.Version, error) { return o.p, nil }

// Run implements flow.Version.
func (p *plugin) Run(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error) {
	var failed error
	ask := func(namespace, request string) gjson.Result {
		reply, err := h.Call(ctx, namespace, []byte(request))
		failed = errors.Join(failed, err)
		return gjson.ParseBytes(reply)
	}
	fn := p.call
	if export == abi.ExportResume {
		fn = p.resume
	}
	output := []byte(fn(ask, gjson.ParseBytes(input)))
	return output, failed
}

// doubleUpdate is a store that rolls back every update and then repeats it, as a
// store may do when another member of a group commit fails.
type doubleUpdate struct{ *sqlite.DB }

func (t doubleUpdate) Update(ctx context.Context, fn func(store.Tx) error) error {
	rolledBack := errors.New("rolled back")
	err := t.DB.Update(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return rolledBack
	})
	if !errors.Is(err, rolledBack) {
		return err
	}
	return t.DB.Update(ctx, fn)
}

// fixture is a store with two sessions and a manager on it.
type fixture struct {
	limits step.Limits // used by the next call of open
	*testing.T
	db      *sqlite.DB
	flows   *flow.Manager
	rules   step.Rules
	as      abi.Caller // the caller of each call
	receive func(*abi.Session) error

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T, p *plugin) *fixture {
	w := &fixture{T: t, now: time.UnixMilli(1_770_000_000_000), as: abi.Caller{SessionKey: caller, AgentID: "main"}}
	path := filepath.Join(t.TempDir(), "flow.db")
	var err error
	if w.db, err = sqlite.Open(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	w.update(func(tx store.Tx) error {
		for _, key := range []string{caller, target} {
			if err := tx.PutSession(&abi.Session{Key: key, SessionID: key, UpdatedAt: 1}); err != nil {
				return err
			}
		}
		return nil
	})
	w.open(p)
	return w
}

// open starts a manager and closes the previous one.
func (w *fixture) open(p *plugin) {
	w.Helper()
	if w.flows != nil {
		if err := w.flows.Close(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
	flows, err := flow.New(&flow.Options{
		Store: doubleUpdate{w.db}, Steps: &step.Runner{Store: w.db, Limits: w.limits, Logger: slog.New(slog.DiscardHandler)},
		Settings: func(flow.Version, string) *flow.Settings {
			rules := w.rules
			rules.Receive = w.receive
			return &flow.Settings{Config: []byte(`{}`), Rules: rules}
		},
		Versions: singleVersion{p}, NewID: rand.Text, Now: w.clock, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := flows.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.flows = flows
	w.Cleanup(func() {
		if err := flows.Close(context.Background()); err != nil {
			w.Error(err)
		}
	})
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *fixture) update(fn func(store.Tx) error) {
	w.Helper()
	if err := w.db.Update(context.Background(), fn); err != nil {
		w.Fatal(err)
	}
}

// view runs a query on a snapshot of the store.
func view[T any](w *fixture, ask func(store.View) (T, error)) T {
	w.Helper()
	v, err := w.db.View(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	answer, err := ask(v)
	if err != nil {
		w.Fatal(err)
	}
	if err := v.Close(); err != nil {
		w.Fatal(err)
	}
	return answer
}

func (w *fixture) allRuns() []*store.Run {
	return view(w, func(v store.View) ([]*store.Run, error) { return v.Runs(context.Background(), &store.Filter{}) })
}

func (w *fixture) allFlows() []*store.Flow {
	return view(w, func(v store.View) ([]*store.Flow, error) { return v.Flows(context.Background(), &store.Filter{}) })
}

// end ends a run as run.Manager does.
func (w *fixture) end(id, reply string) {
	w.Helper()
	w.update(func(tx store.Tx) error {
		r, err := tx.Run(id)
		if err != nil {
			return err
		}
		r.Status, r.Reply, r.EndedAt = abi.RunDone, reply, w.clock().UnixMilli()
		if err := tx.PutRun(r); err != nil {
			return err
		}
		if err := tx.Unschedule(store.KindRun, id); err != nil {
			return err
		}
		return work.WakeFlows(tx, r)
	})
}

// reply is the result of a call.
type reply struct {
	answer *flow.Answer
	err    error
}

// call begins a call. It returns when the call waits or has ended; the channel receives
// the reply.
func (w *fixture) call(ctx context.Context, id, args string) <-chan reply {
	w.Helper()
	waiting, done := make(chan struct{}), make(chan reply, 1)
	go func() {
		a, id, err := w.flows.Accept(ctx, &flow.Call{
			Key: store.CallKey{Scope: "s", ID: id}, Tool: "sessions_send", Args: []byte(args),
			Digest: flow.Digest("sessions_send", []byte(args)), Caller: w.as,
		})
		if id != "" {
			close(waiting)
			a, err = w.flows.Await(ctx, id)
		}
		done <- reply{a, err}
	}()
	select {
	case <-waiting:
	case r := <-done:
		done <- r
	}
	return done
}

// runRequest requests a run in the target session.
const runRequest = `{"op":"run","sessionKey":"` + target + `","message":"hello","group":"nested"}`

// sending returns a plugin that starts a run, waits for the run or the time until, and
// answers with the event.
func sending(until int64) *plugin {
	return &plugin{
		call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
			r := ask("agent", runRequest)
			if e := r.Get("error"); e.Exists() {
				return `{"result":{"status":"forbidden"},"code":"` + e.Get("code").Str + `"}`
			}
			return waitFor(r, until)
		},
		resume: func(_ func(string, string) gjson.Result, in gjson.Result) string {
			return `{"result":` + in.Get("event").Raw + `,"note":"over"}`
		},
	}
}

func waitFor(run gjson.Result, until int64) string {
	out := abi.StepResult{Wait: &abi.Wait{Run: run.Get("ok.runId").Str, Until: until, State: []byte(`{"n":1}`), StateVersion: 1}, Note: "waiting"}
	return string(out.AppendJSON(nil))
}
