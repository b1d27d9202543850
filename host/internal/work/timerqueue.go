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
	// Handle processes a piece of work that is due. It must accept a piece for which
	// there is nothing left to do. Each call runs in its own goroutine, one at a time
	// for each id. An id that is scheduled during its call is handled again. After an
	// error the piece is retried with Backoff. Required.
	Handle func(ctx context.Context, id string) error
	Now    func() time.Time // clock for the scheduled times; nil: time.Now
	Poll   time.Duration    // 0: DefaultPoll
	Logger *slog.Logger     // nil: slog.Default
}

// TimerQueue calls a handler for each piece of work of one kind when the piece is due.
// It is safe for concurrent use. The caller that starts it must call Close.
//
// The store sends a hint after each commit that schedules work. Hints may be lost, and
// earlier processes may have left work, so the queue also loads all scheduled work
// from the store: at the start, and then at the interval Poll.
type TimerQueue struct {
	o           TimerQueueOptions
	ctx         context.Context // of handlers
	cancel      context.CancelFunc
	stop        chan struct{}
	changed     chan struct{} // has a value when the first due time may have changed
	loop        sync.WaitGroup
	handlers    sync.WaitGroup
	unsubscribe func()

	mu       sync.Mutex
	schedule schedule
	closed   bool
	newer    map[string]struct{} // ids that have changed since load began to read the store; nil: load is not reading
}

// NewTimerQueue returns a timer queue. It calls no handler before Start.
func NewTimerQueue(o *TimerQueueOptions) (*TimerQueue, error) {
	switch {
	case o == nil || o.Store == nil:
		return nil, errors.New("work: TimerQueueOptions.Store is missing")
	case o.Kind == "":
		return nil, errors.New("work: TimerQueueOptions.Kind is missing")
	case o.Handle == nil:
		return nil, errors.New("work: TimerQueueOptions.Handle is missing")
	case o.Poll < 0:
		return nil, fmt.Errorf("work: TimerQueueOptions.Poll is %s; it must not be negative", o.Poll)
	}
	q := &TimerQueue{o: *o, stop: make(chan struct{}), changed: make(chan struct{}, 1), schedule: newSchedule()}
	if q.o.Now == nil {
		q.o.Now = time.Now
	}
	if q.o.Poll == 0 {
		q.o.Poll = DefaultPoll
	}
	if q.o.Logger == nil {
		q.o.Logger = slog.Default()
	}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q, nil
}

// Start loads the scheduled work and starts the queue. ctx applies to the loading
// only. Start may be called once.
func (q *TimerQueue) Start(ctx context.Context) error {
	q.mu.Lock()
	closed := q.closed
	q.mu.Unlock()
	if closed {
		return nil
	}
	q.unsubscribe = q.o.Store.Subscribe(q.hint)
	if err := q.load(ctx); err != nil {
		q.unsubscribe()
		return fmt.Errorf("work: load scheduled work: %w", err)
	}
	q.loop.Go(q.run)
	return nil
}

// Close stops the queue and waits for the running handlers. If ctx ends first, Close
// cancels the handlers' contexts, keeps waiting, and returns ctx's error.
func (q *TimerQueue) Close(ctx context.Context) error {
	q.mu.Lock()
	closed := q.closed
	q.closed = true
	q.mu.Unlock()
	if !closed {
		close(q.stop)
		if q.unsubscribe != nil {
			q.unsubscribe()
		}
	}
	q.loop.Wait()
	return Drain(ctx, &q.handlers, q.cancel)
}

// hint receives the work that a commit has scheduled.
func (q *TimerQueue) hint(due []store.Due) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range due {
		if d.Kind != q.o.Kind {
			continue
		}
		q.noteChange(d.ID)
		q.schedule.set(d.ID, d.At)
	}
	q.wake()
}

// noteChange records that the state of a piece is newer than the state that load is
// reading from the store.
func (q *TimerQueue) noteChange(id string) {
	if q.newer != nil {
		q.newer[id] = struct{}{}
	}
}

func (q *TimerQueue) wake() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// load replaces the schedule with the store's, except for pieces that changed while
// the store was read.
func (q *TimerQueue) load(ctx context.Context) error {
	q.mu.Lock()
	q.newer = map[string]struct{}{}
	q.mu.Unlock()
	due, err := q.scheduled(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	newer := q.newer
	q.newer = nil
	if err == nil {
		q.schedule.replace(due, newer)
	}
	return err
}

func (q *TimerQueue) scheduled(ctx context.Context) ([]store.Due, error) {
	v, err := q.o.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	due, err := v.Due(ctx, q.o.Kind)
	return due, errors.Join(err, v.Close())
}

// run starts handlers for due work until the queue is closed.
func (q *TimerQueue) run() {
	poll := time.NewTicker(q.o.Poll)
	defer poll.Stop()
	next := time.NewTimer(q.o.Poll)
	defer next.Stop()
	for {
		if wait, some := q.dispatch(); some {
			next.Reset(wait)
		} else {
			next.Stop()
		}
		select {
		case <-q.stop:
			return
		case <-q.changed:
		case <-next.C:
		case <-poll.C:
			if err := q.load(q.ctx); err != nil && q.ctx.Err() == nil {
				q.o.Logger.Warn("work: scheduled work cannot be loaded", "kind", q.o.Kind, "error", err)
			}
		}
	}
}

// dispatch starts a handler for each piece that is due. It returns the time until the
// next piece is due, if there is one.
func (q *TimerQueue) dispatch() (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.o.Now()
	for {
		e := q.schedule.first()
		if e == nil || q.closed {
			return 0, false
		}
		if wait := e.due().Sub(now); wait > 0 {
			return wait, true
		}
		q.schedule.begin(e)
		q.handlers.Go(func() { q.handle(e) })
	}
}

// handle runs the handler for one piece. It reinserts the piece if the handler failed
// or the piece was scheduled again.
func (q *TimerQueue) handle(e *entry) {
	err := q.o.Handle(q.ctx, e.id)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noteChange(e.id)
	if err != nil {
		if q.ctx.Err() == nil {
			q.o.Logger.Warn("work: handler failed; it will be retried", "kind", q.o.Kind, "id", e.id, "failures", e.failures+1, "error", err)
		}
		q.schedule.failed(e, q.o.Now())
	} else {
		q.schedule.done(e)
	}
	q.wake()
}
