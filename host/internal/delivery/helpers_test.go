package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/internal/delivery"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

const sessionKey = "agent:main:main"

// fixture is a store with sessions and deliveries, and the sinks for them.
type fixture struct {
	t     *testing.T
	store *failingStore
	sinks map[string]*recorder
	from  time.Time
	o     delivery.Options // of the next outbox
}

// open returns a fixture with a session whose target is recipient 7 of the channel chat.
func open(t *testing.T) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	o := &fixture{t: t, store: &failingStore{Durable: db}, sinks: map[string]*recorder{}, from: time.Now()}
	o.o = delivery.Options{
		Logger: slog.New(slog.DiscardHandler),
		Sink: func(channel string) (sink.Sink, error) {
			if s := o.sinks[channel]; s != nil {
				return s, nil
			}
			return nil, fmt.Errorf("no sink for %s", channel)
		},
	}
	o.session(sessionKey, "chat", "7")
	return o
}

func (o *fixture) update(fn func(store.Tx) error) {
	o.t.Helper()
	if err := o.store.Durable.Update(context.Background(), fn); err != nil {
		o.t.Fatal(err)
	}
}

// session puts a session with a target.
func (o *fixture) session(key, channel, to string) {
	o.t.Helper()
	o.update(func(tx store.Tx) error {
		return tx.PutSession(&abi.Session{Key: key, AgentID: "main", Kind: sessionkey.Kind(key), SessionID: "s-" + key, LastChannel: channel, LastTo: to})
	})
}

// queue queues a delivery whose text is its id.
func (o *fixture) queue(key string, ids ...string) {
	o.t.Helper()
	for _, id := range ids {
		o.update(func(tx store.Tx) error {
			return work.QueueDelivery(tx, &store.Delivery{
				ID: id, SessionKey: key, RunID: "run-" + id, Text: id, Status: store.DeliveryPending, CreatedAt: time.Now().UnixMilli(),
			})
		})
	}
}

// sink adds a sink for a channel. Its posts return the result of fn.
func (o *fixture) sink(channel string, fn func(ctx context.Context, m *sink.Message) error) *recorder {
	s := &recorder{from: o.from, answer: fn}
	o.sinks[channel] = s
	return s
}

// start starts an outbox with a new worker.
func (o *fixture) start() *outbox {
	o.t.Helper()
	w, err := work.NewWorker(&work.WorkerOptions{Store: o.store, Logger: o.o.Logger})
	if err != nil {
		o.t.Fatal(err)
	}
	if err := w.TakeOver(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	options := o.o
	options.Store, options.Worker = o.store, w
	b, err := delivery.New(&options)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := b.Start(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	box := &outbox{Outbox: b, worker: w}
	o.t.Cleanup(func() { _ = box.close(context.Background()) })
	return box
}

type outbox struct {
	*delivery.Outbox
	worker *work.Worker
	once   sync.Once
	err    error
}

func (b *outbox) close(ctx context.Context) error {
	b.once.Do(func() { b.err = errors.Join(b.Close(ctx), b.worker.Close(context.Background())) })
	return b.err
}

func (o *fixture) row(id string) *store.Delivery {
	o.t.Helper()
	v, err := o.store.View(context.Background())
	if err != nil {
		o.t.Fatal(err)
	}
	defer v.Close()
	d, err := v.Delivery(context.Background(), id)
	if err != nil || d == nil {
		o.t.Fatalf("delivery %s: %v, %v", id, d, err)
	}
	return d
}

func (o *fixture) flow(id string) (f *store.Flow) {
	o.t.Helper()
	o.update(func(tx store.Tx) (err error) {
		f, err = tx.Flow(id)
		return err
	})
	return f
}

// expect checks the status, the attempts and a part of the error of a delivery. It also
// checks that the delivery is scheduled if and only if it is pending.
func (o *fixture) expect(id, status string, attempts int, text string) *store.Delivery {
	o.t.Helper()
	d := o.row(id)
	if d.Status != status || d.Attempts != attempts || !strings.Contains(d.Error, text) || (text == "") != (d.Error == "") {
		o.t.Errorf("%s is %s after %d attempts, error %q; want %s after %d, %q", id, d.Status, d.Attempts, d.Error, status, attempts, text)
	}
	if d.Ended() != (status != store.DeliveryPending) {
		o.t.Errorf("%s is %s and ended at %d", id, d.Status, d.EndedAt)
	}
	if o.scheduled(id) == d.Ended() {
		o.t.Errorf("%s is %s, scheduled: %v", id, d.Status, !d.Ended())
	}
	return d
}

func (o *fixture) scheduled(id string) bool {
	o.t.Helper()
	v, err := o.store.View(context.Background())
	if err != nil {
		o.t.Fatal(err)
	}
	defer v.Close()
	due, err := v.Due(context.Background(), store.KindDelivery)
	if err != nil {
		o.t.Fatal(err)
	}
	return slices.ContainsFunc(due, func(d store.Due) bool { return d.ID == id })
}

// recorder is a sink that records the messages and times of its posts.
type recorder struct {
	from time.Time

	mu        sync.Mutex
	answer    func(ctx context.Context, m *sink.Message) error // nil: posts succeed
	attempts  []string                                         // text@time
	posted    []sink.Message                                   // without failures
	now, peak int                                              // concurrent posts: current and maximum
}

var _ sink.Sink = (*recorder)(nil)

func (s *recorder) Post(ctx context.Context, m *sink.Message) error {
	s.mu.Lock()
	s.attempts = append(s.attempts, fmt.Sprintf("%s@%s", m.Text, time.Since(s.from).Round(time.Millisecond)))
	s.now++
	s.peak = max(s.peak, s.now)
	answer := s.answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	if answer != nil {
		if err := answer(ctx, m); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posted = append(s.posted, *m)
	return nil
}

// set replaces the function whose result posts return.
func (s *recorder) set(answer func(ctx context.Context, m *sink.Message) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// down is the answer of an unreachable service.
func down(context.Context, *sink.Message) error { return errDown }

// refuse is the answer of a service that refuses a message permanently.
func refuse(context.Context, *sink.Message) error {
	return &sink.Permanent{Err: errors.New("no")}
}

// texts returns the posted texts in order.
func (s *recorder) texts() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.posted {
		all = append(all, m.Text)
	}
	return strings.Join(all, " ")
}

func (s *recorder) tried() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

var errDown = errors.New("connection refused")

// failingStore is a store whose updates can be made to fail.
type failingStore struct {
	store.Durable
	fails atomic.Bool
	after func() // called after each update of the outbox; may be nil
}

var errDisk = errors.New("the disk is full")

func (s *failingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.fails.Load() {
		return errDisk
	}
	err := s.Durable.Update(ctx, fn)
	if s.after != nil {
		s.after()
	}
	return err
}
