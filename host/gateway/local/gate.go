package local

import (
	"net/http"
	"sync"
)

// gate blocks requests until a handler is set.
type gate struct {
	ready chan struct{} // closed by the first open, or by refuse
	once  sync.Once

	mu      sync.RWMutex
	handler http.Handler // nil = refuse

	running sync.RWMutex // held for reading by each request in the handler
}

func newGate() *gate { return &gate{ready: make(chan struct{})} }

func (g *gate) open(h http.Handler) {
	g.mu.Lock()
	g.handler = h
	g.mu.Unlock()
	g.once.Do(func() { close(g.ready) })
}

// refuse makes the gate refuse every request that has not entered the handler.
func (g *gate) refuse() { g.open(nil) }

// wait blocks until no request is in the handler. The caller must call refuse first.
func (g *gate) wait() {
	g.running.Lock()
	defer g.running.Unlock()
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-g.ready:
	case <-r.Context().Done():
		return
	}
	g.running.RLock()
	defer g.running.RUnlock()
	g.mu.RLock()
	h := g.handler
	g.mu.RUnlock()
	if h == nil {
		http.Error(w, "the owner of the database is stopping", http.StatusServiceUnavailable)
		return
	}
	h.ServeHTTP(w, r)
}
