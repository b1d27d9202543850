package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// DefaultMaxAge is how long a delivery is tried where Options say nothing.
const DefaultMaxAge = 24 * time.Hour

const (
	concurrency = 16 // posts at once, a share of them to one channel
	postTimeout = 30 * time.Second
)

// Options are the settings of an Outbox.
type Options struct {
	Store  store.Durable // required
	Worker *work.Worker  // claims the deliveries; required. Its maker closes it, after the outbox.
	// Sink returns what posts to a channel. Its error, or nil, is the delivery's
	// failure for good. Required.
	Sink func(channel string) (sink.Sink, error)
	// Allowed is the send policy (S8.3), asked before every attempt for the
	// session that speaks; its error says why the delivery is skipped. It is asked
	// within a transaction: it must be quick and must not use the store. nil:
	// everything is allowed.
	Allowed func(s *abi.Session, t abi.Target) error
	// MaxAge is how long a delivery is tried (S10.3); nil: DefaultMaxAge.
	MaxAge func() time.Duration
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // the clock of the times that are stored; nil: time.Now
}

func (o *Options) validate() (Options, error) {
	switch {
	case o == nil || o.Store == nil:
		return Options{}, errors.New("delivery: Options.Store is missing")
	case o.Worker == nil:
		return Options{}, errors.New("delivery: Options.Worker is missing")
	case o.Sink == nil:
		return Options{}, errors.New("delivery: Options.Sink is missing")
	}
	v := *o
	if v.Allowed == nil {
		v.Allowed = func(*abi.Session, abi.Target) error { return nil }
	}
	if v.MaxAge == nil {
		v.MaxAge = func() time.Duration { return DefaultMaxAge }
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	if v.Now == nil {
		v.Now = time.Now
	}
	return v, nil
}

// Outbox posts the pending deliveries of a store. It is safe for concurrent use;
// who starts it closes it, before its worker.
type Outbox struct {
	o       Options
	agenda  *work.Agenda
	slots   *slots
	watch   work.Watch      // of deliveries
	ctx     context.Context // of posts
	cancel  context.CancelFunc
	stop    chan struct{} // closed: no attempt begins any more
	once    sync.Once
	running sync.WaitGroup // queues

	arriving sync.Mutex // held while deliveries are brought from the store into queues

	mu      sync.Mutex
	queues  map[destination]*queue
	pending map[string]*pending // of all queues, by the delivery's id
}

// New returns an outbox that posts nothing until it is started.
func New(o *Options) (*Outbox, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	b := &Outbox{
		o: options, stop: make(chan struct{}), slots: newSlots(concurrency),
		queues: map[destination]*queue{}, pending: map[string]*pending{},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.agenda, err = work.NewAgenda(&work.AgendaOptions{
		Store: options.Store, Kind: store.KindDelivery, Handle: b.handle, Now: options.Now, Logger: options.Logger,
	})
	return b, err
}

// Start begins with what is pending. ctx is for looking that up alone. An outbox
// is started once.
func (b *Outbox) Start(ctx context.Context) error { return b.agenda.Start(ctx) }

// Close begins no attempt any more and waits for those that have begun. When ctx
// ends first, it ends their contexts, goes on waiting, and returns ctx's error.
// What is pending stays so.
func (b *Outbox) Close(ctx context.Context) error {
	b.watch.Close()
	b.once.Do(func() { close(b.stop) })
	err := b.agenda.Close(ctx)
	return cmp.Or(work.Drain(ctx, &b.running, b.cancel), err)
}
