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

// DefaultMaxAge is the default of Options.MaxAge.
const DefaultMaxAge = 24 * time.Hour

const (
	concurrency = 16 // maximum number of concurrent posts; see channelShare for one channel
	postTimeout = 30 * time.Second
)

// Options are the settings of an Outbox.
type Options struct {
	Store  store.Durable // required
	Worker *work.Worker  // claims the deliveries; required. The caller must close it after the outbox.
	// Sink returns the sink of a channel. If it returns an error or a nil sink, the
	// delivery fails permanently. Required.
	Sink func(channel string) (sink.Sink, error)
	// Allowed is the send policy (S8.3). The outbox calls it before every attempt with
	// the sending session. If it returns an error, the delivery is skipped for that
	// reason. Allowed runs in a transaction, so it must be quick and must not use the
	// store. nil: all deliveries are allowed.
	Allowed func(s *abi.Session, t abi.Target) error
	// MaxAge returns the time for which a delivery is retried (S10.3); nil:
	// DefaultMaxAge.
	MaxAge func() time.Duration
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // the clock for stored times; nil: time.Now
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

// Outbox posts the pending deliveries of a store. It is safe for concurrent use. The
// caller that starts an outbox must close it, and then close its worker.
type Outbox struct {
	o       Options
	timers  *work.TimerQueue
	slots   *slots
	watch   work.Watch      // of deliveries
	ctx     context.Context // of posts
	cancel  context.CancelFunc
	stop    chan struct{} // closed: no further attempt begins
	once    sync.Once
	running sync.WaitGroup // goroutines of queues

	enqueueing sync.Mutex // held while deliveries are read from the store and queued

	mu      sync.Mutex
	queues  map[destination]*queue
	pending map[string]*pending // of all queues, by the delivery's id
}

// New returns an outbox. It posts nothing until it is started.
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
	b.timers, err = work.NewTimerQueue(&work.TimerQueueOptions{
		Store: options.Store, Kind: store.KindDelivery, Handle: b.handle, Now: options.Now, Logger: options.Logger,
	})
	return b, err
}

// Start starts posting the pending deliveries. ctx applies only to reading them from
// the store. An outbox may be started once.
func (b *Outbox) Start(ctx context.Context) error { return b.timers.Start(ctx) }

// Close stops the outbox and waits for the running attempts. When ctx ends first, Close
// cancels their contexts, still waits for them, and returns ctx's error. Pending
// deliveries stay pending.
func (b *Outbox) Close(ctx context.Context) error {
	b.watch.Close()
	b.once.Do(func() { close(b.stop) })
	err := b.timers.Close(ctx)
	return cmp.Or(work.Drain(ctx, &b.running, b.cancel), err)
}
