package httpapi

import (
	"net/http"
	"sync"

	"github.com/parley-wasm/parley/host/openclaw/invoke"
)

// place is one of the maxCalls places for calls under way.
type place struct {
	calls chan struct{}
	once  sync.Once
}

// take gives the request a place, or refuses it: then there is none.
func (a *API) take(w http.ResponseWriter) *place {
	select {
	case a.calls <- struct{}{}:
		return &place{calls: a.calls}
	default:
		w.Header().Set("Retry-After", "1")
		write(w, invoke.Failure(http.StatusTooManyRequests, invoke.TooManyRequests, "too many calls are under way; try again in a second"))
		return nil
	}
}

// leave gives the place back: at the request's end, or as soon as it waits for
// others and needs nothing of this machine.
func (p *place) leave() { p.once.Do(func() { <-p.calls }) }
