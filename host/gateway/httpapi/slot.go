package httpapi

import (
	"net/http"
	"sync"

	"github.com/parley-wasm/parley/host/internal/invoke"
)

// slot is one of the maxCalls slots for calls under way.
type slot struct {
	calls chan struct{}
	once  sync.Once
}

// take gives the request a slot, or refuses it: then there is none.
func (a *API) take(w http.ResponseWriter) *slot {
	select {
	case a.calls <- struct{}{}:
		return &slot{calls: a.calls}
	default:
		w.Header().Set("Retry-After", "1")
		write(w, invoke.Failure(http.StatusTooManyRequests, invoke.TooManyRequests, "too many calls are under way; try again in a second"))
		return nil
	}
}

// leave gives the slot back: at the request's end, or as soon as it waits for
// others and needs nothing of this machine.
func (s *slot) leave() { s.once.Do(func() { <-s.calls }) }
