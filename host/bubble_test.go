package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
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

// bubble is a vector's world in which time is a synctest bubble's: a whole host
// over a database of its own, with the vector's agents and sinks that take
// everything. Its methods are the test's goroutine's; the rest is the host's.
type bubble struct {
	t      *testing.T
	ctx    context.Context
	vector *vector.Vector
	config *config.Config
	store  *tameStore
	start  time.Time
	host   *host.Host
	before map[string]bool // runs that are no vector's

	mu       sync.Mutex
	cast     *vector.Agents
	ids      int
	records  []*step.Record
	problems []string
}

var _ vector.Fixture = (*bubble)(nil)

// warmUp is how long the gateway is up when a vector begins. So what it does
// every few seconds never falls on an instant at which something happens in a
// vector.
const warmUp = 337 * time.Millisecond

// playInBubble plays a vector that writes, and returns the conversation between
// host and plugin.
func playInBubble(t *testing.T, v *vector.Vector, c *config.Config, play func(vector.Fixture, error)) (records []*step.Record) {
	file := filepath.Join(t.TempDir(), "vector.db")
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{
			t: t, ctx: t.Context(), vector: v, config: c,
			start: time.Now().Add(warmUp), cast: vector.NewAgents(v), before: map[string]bool{},
		}
		b.open(file)
		play(b, nil)
		b.close()
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
		records = settle(b.records)
	})
	return records
}

func (b *bubble) open(file string) {
	b.t.Helper()
	db, err := sqlite.Open(b.ctx, file, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.store = &tameStore{db}
	if err := load(b.ctx, db, b.vector.Store); err != nil {
		b.t.Fatal(err)
	}
	b.up()
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

// up starts a gateway over the store.
func (b *bubble) up() {
	b.t.Helper()
	h, err := host.New(b.ctx, wasm.Parley, &host.Options{
		Store: b.store, Config: b.config, CacheDir: compiled, Logger: slog.New(slog.DiscardHandler),
		Now:     b.now,
		NewID:   b.newID,
		Runners: func(string) (runner.Runner, error) { return actor{b}, nil },
		Sinks:   func(string) (sink.Sink, error) { return taker{}, nil },
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

// close takes the gateway down at once, whatever is under way.
func (b *bubble) close() {
	b.t.Helper()
	now, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.host.Close(now); err != nil && !errors.Is(err, context.Canceled) {
		b.t.Error(err)
	}
}

// now is the vector's time.
func (b *bubble) now() time.Time { return time.UnixMilli(b.vector.Now).Add(time.Since(b.start)) }

func (b *bubble) newID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	return fmt.Sprintf("id-%d", b.ids)
}

func (b *bubble) observe(r *step.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, r)
}

func (b *bubble) fail(lines ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, lines...)
}

// Call makes a tool call. What other goroutines do at the same instant comes
// first.
func (b *bubble) Call(c *vector.Call) vector.Answer {
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
		a.HostCalls, a.ReplyBytes = asked(b.records[seen:])
	}
	return a
}

// Pass lets time pass: all of the bubble sleeps until something is due.
func (b *bubble) Pass(ms int64) {
	time.Sleep(time.Duration(ms) * time.Millisecond)
	synctest.Wait()
}

func (b *bubble) Patch(p *vector.Patch) error {
	_, err := b.host.PatchSession(b.ctx, &chat.Patch{Key: p.Key, SendPolicy: p.SendPolicy, Archived: p.Archived})
	return err
}

func (b *bubble) Receive(m *vector.Inbound) vector.Answer {
	accepted, err := b.host.Send(b.ctx, &chat.Message{SessionKey: m.SessionKey, Text: m.Text, From: m.From, Target: m.Target})
	synctest.Wait()
	if err != nil {
		return vector.Answer{Err: err}
	}
	result, err := json.Marshal(map[string]string{"status": accepted.Status})
	return vector.Answer{Result: result, Err: err}
}

func (b *bubble) Kill(runID string) error {
	_, err := b.host.KillRun(b.ctx, runID, "")
	synctest.Wait()
	return err
}

func (b *bubble) Restart() error {
	b.close()
	b.up()
	synctest.Wait()
	return nil
}

// Finish waits until every flow, run and delivery has ended.
func (b *bubble) Finish() *vector.Outcome {
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

// wait waits for something that is under way, if there is anything.
func (b *bubble) wait(flows []*store.Flow, runs []*store.Run) bool {
	for _, f := range flows {
		if f.Status == store.FlowWaiting && f.WaitRun == "" { // for a time alone
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

func (b *bubble) outcome(flows []*store.Flow, runs []*store.Run, deliveries []*store.Delivery) *vector.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &vector.Outcome{Problems: append(b.problems, b.cast.Unused()...)}
	slices.SortStableFunc(flows, func(x, y *store.Flow) int { return cmp.Compare(x.AcceptedAt, y.AcceptedAt) })
	slices.SortFunc(runs, func(x, y *store.Run) int { return cmp.Compare(x.Seq, y.Seq) })
	slices.SortStableFunc(deliveries, func(x, y *store.Delivery) int { return cmp.Compare(x.CreatedAt, y.CreatedAt) })
	for _, f := range flows {
		if len(f.Sessions) > 0 {
			o.Flows = append(o.Flows, vector.FlowOutcome{Tool: f.Tool, SessionKey: f.Caller.SessionKey, Status: f.Status, Note: cmp.Or(f.Error, f.Standing())})
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

// child returns what is told of a child, if it is stored.
func (b *bubble) child(key string) []vector.ChildOutcome {
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

// settle puts a conversation into an order that does not depend on which
// goroutine was first, and leaves out steps that were run again: of each, the
// last time counts.
func settle(records []*step.Record) []*step.Record {
	type place struct {
		Now    int64  `json:"now"`
		FlowID string `json:"flowId"`
		Step   int    `json:"step"`
	}
	last, order := map[place]*step.Record{}, []place{}
	for _, r := range records {
		var p place
		// What the host made is JSON.
		_ = json.Unmarshal(r.Input, &p)
		if last[p] == nil {
			order = append(order, p)
		}
		last[p] = r
	}
	slices.SortStableFunc(order, func(x, y place) int {
		return cmp.Or(cmp.Compare(x.Now, y.Now), cmp.Compare(x.FlowID, y.FlowID), cmp.Compare(x.Step, y.Step))
	})
	settled := make([]*step.Record, len(order))
	for i, p := range order {
		settled[i] = last[p]
	}
	return settled
}
