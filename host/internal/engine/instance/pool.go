package instance

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is the error of Get after Close.
var ErrClosed = errors.New("the plugin is closed")

// Pool creates instances on demand and reuses them. At most Config.MaxIdle instances
// are idle. A Pool is safe for concurrent use.
type Pool struct {
	config  Config
	mu      sync.Mutex
	idle    []*Instance // a stack, because the instance used last is most likely in the CPU caches
	busy    int
	stats   Stats
	closed  bool
	drained chan struct{} // closed when the pool is closed and no instance is busy
	once    sync.Once
	err     error // of closing the module
}

// Stats counts created, reset and discarded instances.
type Stats struct {
	Opened   uint64 // created
	Reset    uint64 // resets after a successful call
	Failed   uint64 // discarded after a failed call or reset
	Grown    uint64 // discarded because their memory is too large, or cannot shrink
	Volatile uint64 // discarded because the module may change state that cannot be reset
	Surplus  uint64 // discarded because MaxIdle instances are idle, or the pool is closed
}

// outcome is the result of resetting an instance after a call.
type outcome int

const (
	reusable outcome = iota
	failed
	grown
	volatile
)

func (s *Stats) count(o outcome) {
	switch o {
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

// NewPool returns an empty pool, which takes ownership of c.Module.
func NewPool(c Config) *Pool {
	return &Pool{config: c, drained: make(chan struct{})}
}

// Get returns an idle instance or creates one; ctx bounds its start function. The
// caller must pass the instance to Put.
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

// Put resets an instance and makes it idle. It discards the instance if it cannot be
// reset, MaxIdle instances are idle, or the pool is closed.
func (p *Pool) Put(i *Instance) {
	result := i.reset()
	p.mu.Lock()
	p.stats.count(result)
	pooled := result == reusable && !p.closed && len(p.idle) < p.config.MaxIdle
	if pooled {
		p.idle = append(p.idle, i)
	} else if result == reusable {
		p.stats.Surplus++
	}
	p.release()
	p.mu.Unlock()
	if !pooled {
		_ = i.close(context.Background()) // only frees memory; an error has no consequence
	}
}

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// release ends the use of one instance. The caller must hold p.mu.
func (p *Pool) release() {
	p.busy--
	if p.closed && p.busy == 0 {
		close(p.drained)
	}
}

// Idle returns the number of idle instances.
func (p *Pool) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// Close makes Get fail, waits until all instances are returned, and releases
// everything. If ctx ends first, Close returns ctx's error and can be called again.
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
