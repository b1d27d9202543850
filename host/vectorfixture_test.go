package host_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// writeFixture runs a vector that writes: a complete host in a synctest bubble with its
// own database, the vector's agents, and sinks that accept everything. Only the test's
// goroutine may call its vector.Fixture methods; the host's goroutines use the rest.
type writeFixture struct {
	t      *testing.T
	ctx    context.Context
	vector *vector.Vector
	config *config.Config
	store  *deterministicStore
	start  time.Time
	host   *host.Host
	before map[string]bool // runs that precede the vector

	mu       sync.Mutex
	agents   *vector.Agents
	ids      int
	records  []*step.Record
	problems []string
}

var _ vector.Fixture = (*writeFixture)(nil)

// warmUp is the time between the host's start and the vector's. With it, the host's
// periodic work never coincides with an event of a vector.
const warmUp = 337 * time.Millisecond

// playWriting plays a vector that writes and returns the recording of its steps.
func playWriting(t *testing.T, v *vector.Vector, c *config.Config, play func(vector.Fixture, error)) (records []*step.Record) {
	file := filepath.Join(t.TempDir(), "vector.db")
	synctest.Test(t, func(t *testing.T) {
		b := &writeFixture{
			t: t, ctx: t.Context(), vector: v, config: c,
			start: time.Now().Add(warmUp), agents: vector.NewAgents(v), before: map[string]bool{},
		}
		b.open(file)
		play(b, nil)
		b.close()
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
		records = sortRecords(b.records)
	})
	return records
}

func (b *writeFixture) open(file string) {
	b.t.Helper()
	db, err := sqlite.Open(b.ctx, file, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.store = &deterministicStore{db}
	if err := load(b.ctx, db, b.vector.Store); err != nil {
		b.t.Fatal(err)
	}
	b.startHost()
	time.Sleep(time.Until(b.start))
	for _, run := range b.vector.Before {
		accepted, err := b.host.StartAgent(b.ctx, &chat.AgentRequest{SessionKey: run.SessionKey, Message: "before"})
		if err != nil {
			b.t.Fatal(err)
		}
		b.before[accepted.RunID] = true
	}
	synctest.Wait()
}

func (b *writeFixture) startHost() {
	b.t.Helper()
	h, err := host.New(b.ctx, wasm.Parley, &host.Options{
		Store: b.store, Config: b.config, CacheDir: cacheDir, Logger: slog.New(slog.DiscardHandler),
		Now:     b.now,
		NewID:   b.newID,
		Runners: func(string) (runner.Runner, error) { return vectorAgent{b}, nil },
		Sinks:   func(string) (sink.Sink, error) { return discardSink{}, nil },
		Observe: b.observe,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.host = h
	if err := h.Start(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// close closes the host at once and interrupts the work in progress.
func (b *writeFixture) close() {
	b.t.Helper()
	now, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.host.Close(now); err != nil && !errors.Is(err, context.Canceled) {
		b.t.Error(err)
	}
}

// now returns the vector's time.
func (b *writeFixture) now() time.Time { return time.UnixMilli(b.vector.Now).Add(time.Since(b.start)) }

func (b *writeFixture) newID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	return fmt.Sprintf("id-%d", b.ids)
}

func (b *writeFixture) observe(r *step.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, r)
}

func (b *writeFixture) fail(lines ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, lines...)
}

// Call makes a tool call after the other goroutines have finished their work of the
// same instant.
func (b *writeFixture) Call(c *vector.Call) vector.Answer {
	synctest.Wait()
	b.mu.Lock()
	seen := len(b.records)
	b.mu.Unlock()
	ctx := b.ctx
	if c.AbandonAfterMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.AbandonAfterMs)*time.Millisecond)
		defer cancel()
	}
	got, err := b.host.Call(ctx, &host.Call{Tool: c.Tool, Args: c.Args, Caller: c.Caller, ID: c.ID})
	switch {
	case err != nil && ctx.Err() != nil:
		return vector.Answer{Abandoned: true}
	case err != nil:
		return vector.Answer{Err: err}
	}
	a := vector.Answer{Result: got.Result, Code: got.Code}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.records) > seen {
		a.HostCalls, a.ReplyBytes = countHostCalls(b.records[seen:])
	}
	return a
}

// Advance advances the bubble's time and executes the work that becomes due.
func (b *writeFixture) Advance(ms int64) {
	time.Sleep(time.Duration(ms) * time.Millisecond)
	synctest.Wait()
}

func (b *writeFixture) Patch(p *vector.Patch) error {
	_, err := b.host.PatchSession(b.ctx, &chat.Patch{Key: p.Key, SendPolicy: p.SendPolicy, Archived: p.Archived})
	return err
}

func (b *writeFixture) Receive(m *vector.Inbound) vector.Answer {
	accepted, err := b.host.Send(b.ctx, &chat.Message{SessionKey: m.SessionKey, Text: m.Text, From: m.From, Target: m.Target})
	synctest.Wait()
	if err != nil {
		return vector.Answer{Err: err}
	}
	result, err := json.Marshal(map[string]string{"status": accepted.Status})
	return vector.Answer{Result: result, Err: err}
}

func (b *writeFixture) Abort(runID string) error {
	_, err := b.host.AbortRun(b.ctx, runID, "")
	synctest.Wait()
	return err
}

func (b *writeFixture) Restart() error {
	b.close()
	b.startHost()
	synctest.Wait()
	return nil
}

// Finish waits until every flow, run and delivery has ended.
func (b *writeFixture) Finish() *vector.Outcome {
	everything := &store.Filter{Limit: 10_000}
	for {
		synctest.Wait()
		flows, err := b.host.Flows(b.ctx, everything)
		runs, err2 := b.host.Runs(b.ctx, everything)
		deliveries, err3 := b.host.Deliveries(b.ctx, everything)
		if err := errors.Join(err, err2, err3); err != nil {
			b.t.Fatal(err)
		}
		if !b.wait(flows, runs) {
			return b.outcome(flows, runs, deliveries)
		}
	}
}

// wait waits for one flow or run in progress and reports whether there was one.
func (b *writeFixture) wait(flows []*store.Flow, runs []*store.Run) bool {
	for _, f := range flows {
		if f.Status == store.FlowWaiting && f.WaitRun == "" { // waits only for a time
			time.Sleep(time.UnixMilli(f.WaitUntil).Sub(b.now()))
			return true
		}
		if !f.Ended() && f.Status != store.FlowParked {
			if _, err := b.host.WaitFlow(b.ctx, f.ID); err != nil {
				b.t.Fatal(err)
			}
			return true
		}
	}
	for _, r := range runs {
		if !r.Ended() {
			if _, err := b.host.WaitRun(b.ctx, abi.Caller{Operator: true}, r.ID, time.Hour); err != nil {
				b.t.Fatal(err)
			}
			return true
		}
	}
	return false
}

func (b *writeFixture) outcome(flows []*store.Flow, runs []*store.Run, deliveries []*store.Delivery) *vector.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &vector.Outcome{Problems: append(b.problems, b.agents.Unused()...)}
	slices.SortStableFunc(flows, func(x, y *store.Flow) int { return cmp.Compare(x.AcceptedAt, y.AcceptedAt) })
	slices.SortFunc(runs, func(x, y *store.Run) int { return cmp.Compare(x.Seq, y.Seq) })
	slices.SortStableFunc(deliveries, func(x, y *store.Delivery) int { return cmp.Compare(x.CreatedAt, y.CreatedAt) })
	for _, f := range flows {
		if len(f.Sessions) > 0 {
			o.Flows = append(o.Flows, vector.FlowOutcome{Tool: f.Tool, SessionKey: f.Caller.SessionKey, Status: f.Status, Note: cmp.Or(f.Error, f.StatusText())})
		}
	}
	for _, r := range runs {
		if r.Group == abi.GroupSubagent {
			o.Children = append(o.Children, b.child(r.SessionKey)...)
		}
		if !b.before[r.ID] {
			o.Runs = append(o.Runs, vector.RunOutcome{
				SessionKey: r.SessionKey, AgentID: r.AgentID, Message: r.Message, Context: r.Context, Provenance: r.Provenance, Group: r.Group,
				NoTools: r.NoTools, TimeoutSeconds: r.TimeoutSeconds, Hops: r.Hops, Status: r.Status, Reply: r.Reply, Error: r.Error, Attempts: r.Attempt,
			})
		}
	}
	for _, d := range deliveries {
		o.Deliveries = append(o.Deliveries, vector.DeliveryOutcome{SessionKey: d.SessionKey, Text: d.Text, Status: d.Status, Target: d.Target, Error: d.Error})
	}
	return o
}

// child returns the outcome of a child session, if it is stored.
func (b *writeFixture) child(key string) []vector.ChildOutcome {
	snapshot, err := b.store.Snapshot(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	defer snapshot.Close()
	s, err := snapshot.Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	if s == nil {
		return nil
	}
	return []vector.ChildOutcome{vector.NewChildOutcome(s)}
}

// sortRecords sorts recorded steps, so that their order does not depend on the order of
// goroutines. Of a step that ran repeatedly, it keeps only the last record.
func sortRecords(records []*step.Record) []*step.Record {
	type position struct {
		Now    int64  `json:"now"`
		FlowID string `json:"flowId"`
		Step   int    `json:"step"`
	}
	last, order := map[position]*step.Record{}, []position{}
	for _, r := range records {
		var p position
		// The host's input is always JSON.
		_ = json.Unmarshal(r.Input, &p)
		if last[p] == nil {
			order = append(order, p)
		}
		last[p] = r
	}
	slices.SortStableFunc(order, func(x, y position) int {
		return cmp.Or(cmp.Compare(x.Now, y.Now), cmp.Compare(x.FlowID, y.FlowID), cmp.Compare(x.Step, y.Step))
	})
	settled := make([]*step.Record, len(order))
	for i, p := range order {
		settled[i] = last[p]
	}
	return settled
}

// deterministicStore is a database with constant ids, paths and order of notifications,
// so that recordings are reproducible.
type deterministicStore struct{ *sqlite.DB }

var (
	_ store.Durable = (*deterministicStore)(nil)
	_ store.Located = (*deterministicStore)(nil)
)

// Secret returns a constant, so that the ids derived from it are constant.
func (*deterministicStore) Secret() []byte { return bytes.Repeat([]byte("vector--"), 4) }

// TranscriptPath returns a path that does not depend on the database's path.
func (*deterministicStore) TranscriptPath(sessionID string) string {
	return vector.TranscriptPath(sessionID)
}

// Subscribe delays notifications of flows by a millisecond. When a run has ended, the
// session's next run therefore always begins before the flow that waited for the run
// resumes, whatever the order of their goroutines.
func (t *deterministicStore) Subscribe(fn func([]store.Due)) (cancel func()) {
	var over atomic.Bool
	stop := t.DB.Subscribe(func(all []store.Due) {
		var now, later []store.Due
		for _, d := range all {
			if d.Kind == store.KindFlow {
				later = append(later, d)
			} else {
				now = append(now, d)
			}
		}
		if len(now) > 0 {
			fn(now)
		}
		if len(later) > 0 {
			time.AfterFunc(time.Millisecond, func() {
				if !over.Load() {
					fn(later)
				}
			})
		}
	})
	return func() {
		over.Store(true)
		stop()
	}
}
