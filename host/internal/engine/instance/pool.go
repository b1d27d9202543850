package instance

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is the error of Get after Close.
var ErrClosed = errors.New("the plugin is closed")

// Pool hands out instances and grows on demand; at most Config.MaxIdle wait for a
// call. It is safe for concurrent use.
type Pool struct {
	config  Config
	mu      sync.Mutex
	idle    []*Instance // the one used last is used next: its memory is warm
	busy    int
	stats   Stats
	closed  bool
	drained chan struct{} // closed when the pool is, and nothing is busy
	once    sync.Once
	err     error // of closing the module
}

// Stats counts what became of instances.
type Stats struct {
	Opened   uint64 // were made
	Reset    uint64 // times that one was put back as it was after its start
	Failed   uint64 // closed after a failed call
	Grown    uint64 // closed because they hold too much memory
	Volatile uint64 // closed because the module changes what cannot be put back
	Surplus  uint64 // closed because enough are idle, or the pool is closed
}

// end is what becomes of an instance after a call.
type outcome int

const (
	reusable outcome = iota
	failed
	grown
	volatile
)

func (s *Stats) count(e outcome) {
	switch e {
	case reusable:
		s.Reset++
	case failed:
		s.Failed++
	case grown:
		s.Grown++
	case volatile:
		s.Volatile++
	}
}

// NewPool returns an empty pool, which owns c.Module from now on.
func NewPool(c Config) *Pool {
	return &Pool{config: c, drained: make(chan struct{})}
}

// Get returns an instance, a new one if none is idle; the start function of a new
// one runs under ctx. Every instance goes back with Put.
func (p *Pool) Get(ctx context.Context) (*Instance, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	p.busy++
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return i, nil
	}
	p.mu.Unlock()
	i, err := open(ctx, &p.config)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.release()
		return nil, err
	}
	p.stats.Opened++
	return i, nil
}

// Put takes an instance back: it is put back to what it was and kept for the next
// call, or closed if it is spent or enough are idle.
func (p *Pool) Put(i *Instance) {
	e := i.reset()
	p.mu.Lock()
	p.stats.count(e)
	pooled := e == reusable && !p.closed && len(p.idle) < p.config.MaxIdle
	if pooled {
		p.idle = append(p.idle, i)
	} else if e == reusable {
		p.stats.Surplus++
	}
	p.release()
	p.mu.Unlock()
	if !pooled {
		_ = i.close(context.Background()) // frees memory; there is nothing to do about an error
	}
}

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// release ends one use. The caller holds the lock.
func (p *Pool) release() {
	p.busy--
	if p.closed && p.busy == 0 {
		close(p.drained)
	}
}

// Idle returns the number of instances that wait for a call.
func (p *Pool) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// Close refuses further calls, waits for the running ones and releases
// everything. If ctx ends first it returns its error, and the rest is released by
// calling Close again.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	if !p.closed {
		p.closed = true
		if p.busy == 0 {
			close(p.drained)
		}
	}
	p.mu.Unlock()
	for _, i := range idle {
		_ = i.close(ctx)
	}
	select {
	case <-p.drained:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.once.Do(func() { p.err = p.config.Module.Close(ctx) })
	return p.err
}
