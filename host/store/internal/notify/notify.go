// Package notify notifies subscribers of a store of the work that commits have
// scheduled: commit by commit, in their order, without a lock that a subscriber
// could block.
package notify

import (
	"slices"
	"sync"

	"github.com/parley-wasm/parley/host/store"
)

// Subscribers are the subscribers of one store (store.Durable.Subscribe). They are
// safe for concurrent use. The zero value has none.
type Subscribers struct {
	mu        sync.Mutex
	all       []*subscriber
	news      [][]store.Due // of commits of which they have not been notified
	notifying bool
	quiet     chan struct{} // closed when all are notified; nil when nobody waits for that
}

type subscriber struct{ fn func([]store.Due) }

// Subscribe lets fn be called after each commit that scheduled work. A call that
// has begun may end after cancel has returned; none begins.
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

// Add takes what a commit has scheduled. The caller must see to it that the order
// of calls is that of commits, and then call Notify.
func (s *Subscribers) Add(scheduled []store.Due) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) > 0 && len(scheduled) > 0 {
		s.news = append(s.news, scheduled)
	}
}

// Notify notifies the subscribers of everything that was added, unless another
// call of Notify already does.
func (s *Subscribers) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notifying {
		return
	}
	s.notifying = true
	defer s.settled()
	for len(s.news) > 0 {
		scheduled := s.news[0]
		s.news = s.news[1:]
		for _, one := range s.all {
			s.call(one, scheduled)
		}
	}
}

func (s *Subscribers) settled() {
	s.notifying = false
	if s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// Wait blocks until the subscribers have been notified of everything that was
// added.
func (s *Subscribers) Wait() {
	s.mu.Lock()
	if !s.notifying && len(s.news) == 0 {
		s.mu.Unlock()
		return
	}
	if s.quiet == nil {
		s.quiet = make(chan struct{})
	}
	quiet := s.quiet
	s.mu.Unlock()
	<-quiet
}

// call calls a subscriber without the lock, unless it has canceled.
func (s *Subscribers) call(one *subscriber, scheduled []store.Due) {
	if !slices.Contains(s.all, one) {
		return
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	one.fn(slices.Clone(scheduled))
}
