package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
	"github.com/parley-wasm/parley/testdata/vectors"
)

// TestVectors runs the conformance vectors end to end: the compiled plugin in the
// engine, the host functions and the SQLite store. It compares the inputs, host calls
// and outputs of the plugin with testdata/recordings.
func TestVectors(t *testing.T) {
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	recorded := newRecordings(t)
	var mu sync.Mutex // guards recorded
	w := newReadFixture(t)
	// Each vector that writes has its own host. These vectors run in parallel, after all
	// others.
	t.Cleanup(func() { recorded.finish(t, all) })
	recordingtest.Run(t, all, func(t *testing.T, v *vector.Vector, play func(vector.Fixture, error)) {
		c, err := config.Parse(v.ID, v.Config)
		check := func(records []*step.Record) {
			mu.Lock()
			defer mu.Unlock()
			recorded.check(t, v.ID, records)
		}
		switch {
		case err != nil:
			recorded.skip(v.ID, "the configuration is refused")
			play(nil, err)
		case v.Writes():
			if v.SameAs == "" { // else this function is called again for the SameAs vector
				t.Parallel()
			}
			check(playWriting(t, v, c, play))
		default:
			call, records := w.prepare(t, v, c)
			play(call, nil)
			check(*records)
		}
	})
}

// readFixture runs the vectors that only read, on one host whose store, clock and
// configuration it replaces for each vector. It is not safe for concurrent use.
type readFixture struct {
	host    *host.Host
	stores  map[*vector.Contents]*sqlite.DB
	dir     string
	current *sqlite.DB
	now     int64
	records *[]*step.Record // of the current vector
}

func newReadFixture(t *testing.T) *readFixture {
	ctx := context.Background()
	w := &readFixture{stores: map[*vector.Contents]*sqlite.DB{}, dir: t.TempDir()}
	var err error
	w.host, err = host.New(ctx, wasm.Parley, &host.Options{
		Store: w, CacheDir: cacheDir, Limits: generousLimits,
		Logger:  slog.New(slog.DiscardHandler),
		Now:     func() time.Time { return time.UnixMilli(w.now) },
		Observe: func(r *step.Record) { *w.records = append(*w.records, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := w.host.Close(ctx)
		for _, db := range w.stores {
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return w
}

var _ store.Store = (*readFixture)(nil)

// Snapshot returns a snapshot of the current vector's store.
func (w *readFixture) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return w.current.Snapshot(ctx)
}

// prepare returns a function that calls tools for the vector, and the records of its
// steps.
func (w *readFixture) prepare(t *testing.T, v *vector.Vector, c *config.Config) (vector.CallFunc, *[]*step.Record) {
	db := w.stores[v.Store]
	if db == nil {
		db = w.fill(t, v.Store)
		w.stores[v.Store] = db
	}
	calls, records := 0, &[]*step.Record{}
	return func(tool string, args []byte) vector.Answer {
		w.current, w.now, w.records = db, v.Now, records
		w.host.Configure(c)
		calls++
		seen := len(*records)
		answer, err := w.host.Call(context.Background(), &host.Call{
			Tool: tool, Args: args, Caller: v.Caller, ID: fmt.Sprintf("call-%d", calls),
		})
		a := vector.Answer{Err: err}
		if err == nil {
			a.Result, a.Code = answer.Result, answer.Code
		}
		a.HostCalls, a.ReplyBytes = countHostCalls((*records)[seen:])
		return a
	}, records
}

// countHostCalls counts the host calls of recorded steps and the bytes of their replies.
func countHostCalls(records []*step.Record) (calls, bytes int) {
	for _, r := range records {
		calls += len(r.Calls)
		for _, c := range r.Calls {
			bytes += len(c.Reply)
		}
	}
	return calls, bytes
}

// fill creates a database with a vector's contents, as an importer does.
func (w *readFixture) fill(t *testing.T, contents *vector.Contents) *sqlite.DB {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(w.dir, fmt.Sprintf("%d.db", len(w.stores))), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(ctx, db, contents); err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	return db
}

func load(ctx context.Context, db *sqlite.DB, contents *vector.Contents) error {
	return db.Load(ctx, func(b store.Batch) error {
		for i := range contents.Sessions {
			if err := put(b, &contents.Sessions[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func put(b store.Batch, stored *vector.StoredSession) error {
	session := stored.Session
	if _, err := b.PutSession(&session, nil); err != nil {
		return fmt.Errorf("%s: %w", session.Key, err)
	}
	for _, raw := range stored.Messages {
		doc, _, err := message.Normalize(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", session.Key, err)
		}
		m := store.Message{Role: message.Role(doc), At: message.Timestamp(doc), JSON: doc}
		if _, err := b.PutMessage(session.Key, &m); err != nil {
			return fmt.Errorf("%s: %w", session.Key, err)
		}
	}
	return nil
}

// TestVectorCallersAreAccepted checks that no vector passes only because the host
// refuses its caller.
func TestVectorCallersAreAccepted(t *testing.T) {
	t.Parallel()
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	w, empty := newReadFixture(t), &vector.Contents{}
	for _, v := range all {
		c, err := config.Parse(v.ID, v.Config)
		if err != nil {
			continue // the vector tests that this configuration is refused
		}
		call, _ := w.prepare(t, &vector.Vector{ID: v.ID, Now: v.Now, Store: empty, Caller: v.Caller}, c)
		if a := call(abi.ToolAgents, nil); a.Err != nil {
			t.Errorf("%s: %v", v.ID, a.Err)
		}
	}
}

// vectorAgent runs the turns of all sessions as the vector specifies them.
type vectorAgent struct{ b *writeFixture }

func (a vectorAgent) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	a.b.mu.Lock()
	turn, err := a.b.agents.Turn(t.SessionKey, t.RunID)
	a.b.mu.Unlock()
	if err != nil {
		a.b.fail(err.Error())
		return nil, err
	}
	for i := range turn.Calls {
		if err := a.call(ctx, t, &turn.Calls[i]); err != nil {
			return nil, err
		}
	}
	over := time.After(time.Duration(turn.TakesMs) * time.Millisecond)
	if turn.Status == abi.RunTimeout {
		over = nil
	}
	select {
	case <-over:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if message := turn.ToolResultMessage(a.b.now().UnixMilli()); message != nil {
		if err := t.Transcript.Append(ctx, message); err != nil {
			return nil, err
		}
	}
	switch turn.Status {
	case abi.RunFailed:
		return nil, errors.New(turn.Error)
	case abi.RunKilled:
		return nil, errors.Join(a.b.abort(t.RunID), errors.New("aborted"))
	}
	return &runner.Outcome{Text: turn.Reply, Model: turn.Model, Usage: turn.Usage}, nil
}

func (a vectorAgent) call(ctx context.Context, t *runner.Turn, c *vector.AgentCall) error {
	if t.Tools == nil {
		err := abi.NewError(abi.Forbidden, fmt.Sprintf("the agent of %s is to call %s, but has no tools", t.SessionKey, c.Tool))
		if c.Expect == nil {
			a.b.fail(err.Error())
			return err
		}
		a.b.fail(c.Check(vector.Answer{Err: err})...)
		return nil
	}
	got, err := t.Tools.Call(ctx, c.Tool, c.Args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer := vector.Answer{Err: err}
	if err == nil {
		answer.Result, answer.Code = got.Result, got.Code
	}
	a.b.fail(c.Check(answer)...)
	return nil
}

// abort stores that the operator has aborted a run, and schedules the run at once.
func (b *writeFixture) abort(runID string) error {
	return b.store.Update(b.ctx, func(tx store.Tx) error {
		r, err := tx.Run(runID)
		if err != nil || r.Ended() {
			return err
		}
		r.Abort = vector.AbortedByOperator
		return errors.Join(tx.PutRun(r), tx.Schedule(store.KindRun, runID, b.now().UnixMilli()))
	})
}

// discardSink is a sink that accepts and discards everything.
type discardSink struct{}

var _ sink.Sink = discardSink{}

func (discardSink) Post(context.Context, *sink.Message) error { return nil }
