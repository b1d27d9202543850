package delivery

import "sync"

// slots bounds how many posts happen at once: in all, and to one channel.
type slots struct {
	all     chan struct{}
	each    int
	mu      sync.Mutex
	channel map[string]chan struct{}
}

// share is which part of all posts may be to one channel.
const share = 4

func newSlots(n int) *slots {
	return &slots{all: make(chan struct{}, n), each: (n + share - 1) / share, channel: map[string]chan struct{}{}}
}

// acquire waits for a slot, and reports false when stop was closed first. A post
// that waits for its channel takes no slot from others.
func (s *slots) acquire(stop <-chan struct{}, channel string) (release func(), ok bool) {
	own := s.of(channel)
	select {
	case own <- struct{}{}:
	case <-stop:
		return nil, false
	}
	select {
	case s.all <- struct{}{}:
	case <-stop:
		<-own
		return nil, false
	}
	release = func() { <-s.all; <-own }
	select {
	case <-stop:
		release()
		return nil, false
	default:
		return release, true
	}
}

func (s *slots) of(channel string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channel[channel]
	if c == nil {
		c = make(chan struct{}, s.each)
		s.channel[channel] = c
	}
	return c
}
