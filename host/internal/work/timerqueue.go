package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// DefaultPoll is the interval at which the store is polled for scheduled work and for
// changes of a watched row. Polling covers hints and notifications that were lost.
const DefaultPoll = 10 * time.Second

// TimerQueueOptions configures a timer queue.
type TimerQueueOptions struct {
	Store store.Durable // required
	Kind  string        // kind of work; required
	// Handle processes a piece of work that is due, or finds that there is nothing to
	// do. It runs in its own goroutine, one at a time for each id. An id that is
	// scheduled while it is handled is handled again. After an error the piece is
	// retried with Backoff. Required.
	Handle func(ctx context.Context, id string) error
	Now    func() time.Time // clock for the scheduled times; nil: time.Now
	Poll   time.Duration    // 0: DefaultPoll
	Logger *slog.Logger     // nil: slog.Default
}

// TimerQueue is a timer queue: it calls a handler for each piece of work of one kind when
// it is due. It is safe for concurrent use. The caller that starts it must call
// Close.
//
// The store sends a hint after each commit that schedules work. Hints may be lost,
// and earlier processes may have left work behind, so the queue also loads all
// scheduled work from the store, at the start and at every Poll.
type TimerQueue struct {
	o           TimerQueueOptions
	ctx         context.Context // of handlers
	cancel      context.CancelFunc
	stop        chan struct{}
	changed     chan struct{} // holds one token when the first due time may have changed
	loop        sync.WaitGroup
	handlers    sync.WaitGroup
	unsubscribe func()

	mu     sync.Mutex
	plan   schedule
	closed bool
	newer  map[string]struct{} // pieces changed while the store is being read; nil otherwise
}

// NewTimerQueue returns a timer queue. It calls no handler before Start.
func NewTimerQueue(o *TimerQueueOptions) (*TimerQueue, error) {
	switch {
	case o == nil || o.Store == nil:
		return nil, errors.New("work: AgendaOptions.Store is missing")
	case o.Kind == "":
		return nil, errors.New("work: AgendaOptions.Kind is missing")
	case o.Handle == nil:
		return nil, errors.New("work: AgendaOptions.Handle is missing")
	case o.Poll < 0:
		return nil, fmt.Errorf("work: AgendaOptions.Poll is %s; it must not be negative", o.Poll)
	}
	a := &TimerQueue{o: *o, stop: make(chan struct{}), changed: make(chan struct{}, 1), plan: newSchedule()}
	if a.o.Now == nil {
		a.o.Now = time.Now
	}
	if a.o.Poll == 0 {
		a.o.Poll = DefaultPoll
	}
	if a.o.Logger == nil {
		a.o.Logger = slog.Default()
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// Start loads the scheduled work and starts the queue. ctx applies to the loading
// only. Start may be called once.
func (a *TimerQueue) Start(ctx context.Context) error {
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	if closed {
		return nil
	}
	a.unsubscribe = a.o.Store.Subscribe(a.hint)
	if err := a.load(ctx); err != nil {
		a.unsubscribe()
		return fmt.Errorf("work: load scheduled work: %w", err)
	}
	a.loop.Go(a.run)
	return nil
}

// Close stops the queue and waits for the running handlers. If ctx ends first, Close
// cancels the handlers' contexts, keeps waiting, and returns ctx's error.
func (a *TimerQueue) Close(ctx context.Context) error {
	a.mu.Lock()
	closed := a.closed
	a.closed = true
	a.mu.Unlock()
	if !closed {
		close(a.stop)
		if a.unsubscribe != nil {
			a.unsubscribe()
		}
	}
	a.loop.Wait()
	return Drain(ctx, &a.handlers, a.cancel)
}

// hint receives the work that a commit has scheduled.
func (a *TimerQueue) hint(due []store.Due) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range due {
		if d.Kind != a.o.Kind {
			continue
		}
		a.noteChange(d.ID)
		a.plan.set(d.ID, d.At)
	}
	a.wake()
}

// noteChange records that the state of a piece is newer than the store's pending
// answer.
func (a *TimerQueue) noteChange(id string) {
	if a.newer != nil {
		a.newer[id] = struct{}{}
	}
}

func (a *TimerQueue) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// load replaces the schedule with the store's, except for pieces that changed while
// the store was read.
func (a *TimerQueue) load(ctx context.Context) error {
	a.mu.Lock()
	a.newer = map[string]struct{}{}
	a.mu.Unlock()
	due, err := a.scheduled(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	newer := a.newer
	a.newer = nil
	if err == nil {
		a.plan.replace(due, newer)
	}
	return err
}

func (a *TimerQueue) scheduled(ctx context.Context) ([]store.Due, error) {
	v, err := a.o.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	due, err := v.Due(ctx, a.o.Kind)
	return due, errors.Join(err, v.Close())
}

// run starts handlers for due work until the queue is closed.
func (a *TimerQueue) run() {
	poll := time.NewTicker(a.o.Poll)
	defer poll.Stop()
	next := time.NewTimer(a.o.Poll)
	defer next.Stop()
	for {
		if wait, some := a.dispatch(); some {
			next.Reset(wait)
		} else {
			next.Stop()
		}
		select {
		case <-a.stop:
			return
		case <-a.changed:
		case <-next.C:
		case <-poll.C:
			if err := a.load(a.ctx); err != nil && a.ctx.Err() == nil {
				a.o.Logger.Warn("work: scheduled work cannot be loaded", "kind", a.o.Kind, "error", err)
			}
		}
	}
}

// dispatch starts a handler for each piece that is due. It returns the time until the
// next piece is due, if there is one.
func (a *TimerQueue) dispatch() (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.o.Now()
	for {
		e := a.plan.first()
		if e == nil || a.closed {
			return 0, false
		}
		if wait := e.due().Sub(now); wait > 0 {
			return wait, true
		}
		a.plan.begin(e)
		a.handlers.Go(func() { a.handle(e) })
	}
}

// handle runs the handler for one piece, and reinserts the piece if the handler
// failed or the piece was scheduled again.
func (a *TimerQueue) handle(e *entry) {
	err := a.o.Handle(a.ctx, e.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noteChange(e.id)
	if err != nil {
		if a.ctx.Err() == nil {
			a.o.Logger.Warn("work: handler failed; it will be retried", "kind", a.o.Kind, "id", e.id, "failures", e.failures+1, "error", err)
		}
		a.plan.failed(e, a.o.Now())
	} else {
		a.plan.done(e)
	}
	a.wake()
}
