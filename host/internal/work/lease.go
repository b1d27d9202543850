package work

import (
	"context"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// Fractions of a lease: how often it is renewed, how soon again after a failure,
// and how much earlier it ends here than in the store.
const (
	renewals = 3
	retries  = 12
	margin   = 5
)

// keep makes a claim of what was written, or returns nil when the lease is over.
func (w *Worker) keep(l *lease, began time.Time, kind, id string, fence int64) *Claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewed(l, began)
	if w.expired(l) {
		return nil
	}
	c := &Claim{worker: w, lease: l, kind: kind, id: id, fence: fence}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	l.claims[c] = struct{}{}
	w.wind(l)
	return c
}

// extend says that the store knows the lease to last from that moment on.
func (w *Worker) extend(l *lease, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewed(l, began)
	if !w.expired(l) && len(l.claims) > 0 {
		w.wind(l)
	}
}

func (w *Worker) renewed(l *lease, began time.Time) {
	if until := began.Add(w.o.Lease - w.o.Lease/margin); until.After(l.until) {
		l.until = until
	}
}

// wind sets the timers of a lease that has claims.
func (w *Worker) wind(l *lease) {
	next, end := w.o.Lease/renewals, time.Until(l.until)
	if l.renew == nil {
		l.renew = time.AfterFunc(next, func() { w.heartbeat(l) })
		l.expire = time.AfterFunc(end, func() { w.lost(l) })
		return
	}
	l.renew.Reset(next)
	l.expire.Reset(end)
}

// heartbeat renews the lease, for all claims in one write.
func (w *Worker) heartbeat(l *lease) {
	w.mu.Lock()
	if l.over || len(l.claims) == 0 {
		w.mu.Unlock()
		return
	}
	w.renewal.Add(1)
	until := l.until
	w.mu.Unlock()
	defer w.renewal.Done()

	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	began, err := w.transact(ctx, l, func(store.Tx, int64) error { return nil })
	if err == nil {
		w.extend(l, began)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !l.over && len(l.claims) > 0 {
		w.o.Logger.Warn("work: the lease could not be renewed", "worker", l.name, "error", err)
		l.renew.Reset(w.o.Lease / retries)
	}
}

// lost reports whether the lease is over, after a look at the clock.
func (w *Worker) lost(l *lease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expired(l)
}

// expired ends the lease if its time has come, and reports whether it is over.
func (w *Worker) expired(l *lease) bool {
	if l == nil || l.over {
		return true
	}
	if l.until.IsZero() || time.Now().Before(l.until) {
		return false
	}
	w.retire(l, "it was not renewed in time")
	return true
}

// lose ends a lease for another reason than the clock.
func (w *Worker) lose(l *lease, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !l.over {
		w.retire(l, why)
	}
}

// retire ends the lease and all its claims. The next claim is made under another
// name. A lease that ran out while nothing was claimed is no loss.
func (w *Worker) retire(l *lease, why string) {
	if w.lease == l {
		w.lease = nil
	}
	if claims := l.end(ErrLost); len(claims) > 0 {
		w.o.Logger.Error("work: the lease is lost", "worker", l.name, "claims", len(claims), "why", why)
	}
}

// end ends the lease, and its claims for this reason, and returns them.
func (l *lease) end(cause error) []*Claim {
	l.over = true
	l.still()
	claims := make([]*Claim, 0, len(l.claims))
	for c := range l.claims {
		c.cancel(cause)
		claims = append(claims, c)
	}
	clear(l.claims)
	return claims
}

// still stops the timers.
func (l *lease) still() {
	if l.renew != nil {
		l.renew.Stop()
		l.expire.Stop()
	}
}
