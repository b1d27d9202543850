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
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
	"github.com/parley-wasm/parley/testdata/vectors"
)

// TestVectors runs the conformance vectors through the whole path: the compiled
// plugin in the engine, the host functions, the SQLite store. What host and
// plugin say to each other is compared with testdata/recordings.
func TestVectors(t *testing.T) {
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	recorded := newRecordings(t)
	var mu sync.Mutex // of recorded
	w := newWorlds(t)
	// Vectors that write have a host each, and run at the same time when all others have run.
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
			recorded.without(v.ID, "the configuration is refused")
			play(nil, err)
		case v.Writes():
			if v.SameAs == "" { // else the test goes on with the vector that it is the same as
				t.Parallel()
			}
			check(playInBubble(t, v, c, play))
		default:
			call, records := w.enter(t, v, c)
			play(call, nil)
			check(*records)
		}
	})
}

// worlds is one host that is given another store, clock and configuration for
// each vector. It is for one goroutine.
type worlds struct {
	host    *host.Host
	stores  map[*vector.Contents]*sqlite.DB
	dir     string
	current *sqlite.DB
	now     int64
	records *[]*step.Record // of the current vector
}

func newWorlds(t *testing.T) *worlds {
	ctx := context.Background()
	w := &worlds{stores: map[*vector.Contents]*sqlite.DB{}, dir: t.TempDir()}
	var err error
	w.host, err = host.New(ctx, wasm.Parley, &host.Options{
		Store: w, CacheDir: compiled, Limits: patient,
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

var _ store.Store = (*worlds)(nil)

// Snapshot reads from the store of the current vector.
func (w *worlds) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return w.current.Snapshot(ctx)
}

// enter returns how to call tools in the vector's world, and where the
// conversation is recorded.
func (w *worlds) enter(t *testing.T, v *vector.Vector, c *config.Config) (vector.CallFunc, *[]*step.Record) {
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
		a.HostCalls, a.ReplyBytes = asked((*records)[seen:])
		return a
	}, records
}

// asked counts the host calls of some steps, and the bytes of their replies.
func asked(records []*step.Record) (calls, bytes int) {
	for _, r := range records {
		calls += len(r.Calls)
		for _, c := range r.Calls {
			bytes += len(c.Reply)
		}
	}
	return calls, bytes
}

// fill makes a database with a vector's contents, as an importer would.
func (w *worlds) fill(t *testing.T, contents *vector.Contents) *sqlite.DB {
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

// TestVectorCallersAreAccepted makes sure that no vector passes only because the
// host refuses its caller.
func TestVectorCallersAreAccepted(t *testing.T) {
	t.Parallel()
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	w, empty := newWorlds(t), &vector.Contents{}
	for _, v := range all {
		c, err := config.Parse(v.ID, v.Config)
		if err != nil {
			continue // the vector is about the refusal
		}
		call, _ := w.enter(t, &vector.Vector{ID: v.ID, Now: v.Now, Store: empty, Caller: v.Caller}, c)
		if a := call(abi.ToolAgents, nil); a.Err != nil {
			t.Errorf("%s: %v", v.ID, a.Err)
		}
	}
}
