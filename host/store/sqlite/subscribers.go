package sqlite

import (
	"slices"
	"sync"

	"github.com/parley-wasm/parley/host/store"
)

// subscribers are told what commits have scheduled, commit by commit, in their
// order. No lock is held meanwhile, and others write on.
type subscribers struct {
	mu      sync.Mutex
	all     []*subscriber
	news    [][]store.Due // of commits that they have not heard of
	telling bool
	quiet   chan struct{} // closed when all is told; nil when nobody waits for that
}

type subscriber struct{ fn func([]store.Due) }

// Subscribe lets fn be called after each commit that scheduled work. A call that
// has begun may end after cancel has returned; none begins.
func (db *DB) Subscribe(fn func([]store.Due)) (cancel func()) {
	s, one := &db.subscribers, &subscriber{fn}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.Clip(s.all), one)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = slices.DeleteFunc(slices.Clone(s.all), func(x *subscriber) bool { return x == one })
	}
}

// add takes what a commit has scheduled. Whoever has the turn calls it, so that
// the order is that of commits.
func (s *subscribers) add(scheduled []store.Due) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) > 0 {
		s.news = append(s.news, scheduled)
	}
}

// tell tells the news, unless somebody does already.
func (s *subscribers) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.telling {
		return
	}
	s.telling = true
	defer s.settled()
	for len(s.news) > 0 {
		scheduled := s.news[0]
		s.news = s.news[1:]
		for _, one := range s.all {
			s.call(one, scheduled)
		}
	}
}

func (s *subscribers) settled() {
	s.telling = false
	if s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// wait waits until all is told.
func (s *subscribers) wait() {
	s.mu.Lock()
	if !s.telling && len(s.news) == 0 {
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
func (s *subscribers) call(one *subscriber, scheduled []store.Due) {
	if !slices.Contains(s.all, one) {
		return
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	one.fn(slices.Clone(scheduled))
}
