package delivery

import "sync"

// slots limits the number of concurrent posts, in total and to one channel.
type slots struct {
	all     chan struct{}
	each    int
	mu      sync.Mutex
	channel map[string]chan struct{}
}

// channelShare limits the posts to one channel to 1/channelShare of all concurrent posts.
const channelShare = 4

func newSlots(n int) *slots {
	return &slots{all: make(chan struct{}, n), each: (n + channelShare - 1) / channelShare, channel: map[string]chan struct{}{}}
}

// acquire waits for a slot. It reports false when stop is closed first. A post that
// waits for its channel does not occupy a slot of the total.
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
