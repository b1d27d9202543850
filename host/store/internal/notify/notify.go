// Package notify calls the subscribers of a store with the work that each commit has
// scheduled, in commit order. No lock is held while a subscriber runs.
package notify

import (
	"slices"
	"sync"

	"github.com/parley-wasm/parley/host/store"
)

// Subscribers are the subscribers of one store (store.Durable.Subscribe). The zero
// value is ready to use and empty. It is safe for concurrent use.
type Subscribers struct {
	mu        sync.Mutex
	all       []*subscriber
	queued    [][]store.Due // the work of each commit that subscribers have not received
	notifying bool
	drained   chan struct{} // closed when Notify ends; nil when no Wait is blocked
}

type subscriber struct{ fn func([]store.Due) }

// Subscribe registers fn to be called after each commit that scheduled work. After
// cancel has returned, no call begins, but a call in progress may continue.
func (s *Subscribers) Subscribe(fn func([]store.Due)) (cancel func()) {
	one := &subscriber{fn}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.Clip(s.all), one)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = slices.DeleteFunc(slices.Clone(s.all), func(x *subscriber) bool { return x == one })
	}
}

// Add queues the work that a commit has scheduled. The caller must call Add in commit
// order, and then Notify.
func (s *Subscribers) Add(scheduled []store.Due) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) > 0 && len(scheduled) > 0 {
		s.queued = append(s.queued, scheduled)
	}
}

// Notify notifies the subscribers of all queued work. It returns at once if another
// call of Notify is in progress.
func (s *Subscribers) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notifying {
		return
	}
	s.notifying = true
	defer s.finish()
	for len(s.queued) > 0 {
		scheduled := s.queued[0]
		s.queued = s.queued[1:]
		for _, one := range s.all {
			s.call(one, scheduled)
		}
	}
}

func (s *Subscribers) finish() {
	s.notifying = false
	if s.drained != nil {
		close(s.drained)
		s.drained = nil
	}
}

// Wait blocks until the subscribers have been notified of all queued work.
func (s *Subscribers) Wait() {
	s.mu.Lock()
	if !s.notifying && len(s.queued) == 0 {
		s.mu.Unlock()
		return
	}
	if s.drained == nil {
		s.drained = make(chan struct{})
	}
	drained := s.drained
	s.mu.Unlock()
	<-drained
}

// call releases the lock and calls a subscriber, unless its subscription was canceled.
func (s *Subscribers) call(one *subscriber, scheduled []store.Due) {
	if !slices.Contains(s.all, one) {
		return
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	one.fn(slices.Clone(scheduled))
}
