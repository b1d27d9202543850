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

// DefaultPoll is how often the store is asked what is scheduled, behind the hints,
// and what has become of a row that somebody waits for.
const DefaultPoll = 10 * time.Second

// AgendaOptions are the settings of an Agenda.
type AgendaOptions struct {
	Store store.Durable // required
	Kind  string        // of the work; required
	// Handle does a piece of work that is due, or sees that there is nothing to
	// do. It runs in a goroutine of its own, once at a time for an id; an id that
	// is scheduled meanwhile is handled again. What fails is tried again, after
	// Backoff. Required.
	Handle func(ctx context.Context, id string) error
	Now    func() time.Time // what scheduled times are compared with; nil: time.Now
	Poll   time.Duration    // 0: DefaultPoll
	Logger *slog.Logger     // nil: slog.Default
}

// Agenda hands out work of one kind when it is due. It is safe for concurrent
// use; who starts it closes it.
//
// What it knows comes from the store's hints after each commit. Hints may be
// lost, and work may be left over by others: so it also asks the store for all
// that is scheduled, at the start and every Poll.
type Agenda struct {
	o       AgendaOptions
	ctx     context.Context // of handlers
	cancel  context.CancelFunc
	stop    chan struct{}
	changed chan struct{} // one token: what is due first may be another
	loop    sync.WaitGroup
	handing sync.WaitGroup
	forget  func() // ends the subscription

	mu     sync.Mutex
	plan   plan
	closed bool
	newer  map[string]struct{} // while the store is asked: what it may not know yet
}

// NewAgenda returns an agenda that hands out nothing until it is started.
func NewAgenda(o *AgendaOptions) (*Agenda, error) {
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
	a := &Agenda{o: *o, stop: make(chan struct{}), changed: make(chan struct{}, 1), plan: newPlan()}
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

// Start loads what is scheduled and begins. ctx is for the loading alone. An
// agenda is started once.
func (a *Agenda) Start(ctx context.Context) error {
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	if closed {
		return nil
	}
	a.forget = a.o.Store.Subscribe(a.hint)
	if err := a.load(ctx); err != nil {
		a.forget()
		return fmt.Errorf("work: load what is scheduled: %w", err)
	}
	a.loop.Go(a.run)
	return nil
}

// Close hands nothing out any more and waits for the handlers. When ctx ends
// first, it ends their contexts, goes on waiting, and returns ctx's error.
func (a *Agenda) Close(ctx context.Context) error {
	a.mu.Lock()
	closed := a.closed
	a.closed = true
	a.mu.Unlock()
	if !closed {
		close(a.stop)
		if a.forget != nil {
			a.forget()
		}
	}
	a.loop.Wait()
	return Drain(ctx, &a.handing, a.cancel)
}

// hint hears of what a commit has scheduled.
func (a *Agenda) hint(due []store.Due) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range due {
		if d.Kind != a.o.Kind {
			continue
		}
		a.changes(d.ID)
		a.plan.set(d.ID, d.At)
	}
	a.wake()
}

// changes notes a piece whose state is newer than what the store will answer.
func (a *Agenda) changes(id string) {
	if a.newer != nil {
		a.newer[id] = struct{}{}
	}
}

func (a *Agenda) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// load makes the plan what the store says, but for what is newer than that.
func (a *Agenda) load(ctx context.Context) error {
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

func (a *Agenda) scheduled(ctx context.Context) ([]store.Due, error) {
	v, err := a.o.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	due, err := v.Due(ctx, a.o.Kind)
	return due, errors.Join(err, v.Close())
}

// run hands out what is due until the agenda is closed.
func (a *Agenda) run() {
	poll := time.NewTicker(a.o.Poll)
	defer poll.Stop()
	next := time.NewTimer(a.o.Poll)
	defer next.Stop()
	for {
		if wait, some := a.handOut(); some {
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
				a.o.Logger.Warn("work: cannot ask the store what is scheduled", "kind", a.o.Kind, "error", err)
			}
		}
	}
}

// handOut starts a handler for each piece that is due, and returns how long it
// is until the next one, if there is any.
func (a *Agenda) handOut() (time.Duration, bool) {
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
		a.handing.Go(func() { a.handle(e) })
	}
}

// handle handles one piece, and puts it back if it failed or was scheduled again.
func (a *Agenda) handle(e *entry) {
	err := a.o.Handle(a.ctx, e.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes(e.id)
	if err != nil {
		if a.ctx.Err() == nil {
			a.o.Logger.Warn("work: will be tried again", "kind", a.o.Kind, "id", e.id, "failures", e.failures+1, "error", err)
		}
		a.plan.failed(e, a.o.Now())
	} else {
		a.plan.done(e)
	}
	a.wake()
}
