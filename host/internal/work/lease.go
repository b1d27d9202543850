package work

import (
	"context"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// Divisors of the lease's duration.
const (
	renewals = 3  // gives the renewal interval
	retries  = 12 // gives the retry interval after a failed renewal
	margin   = 5  // gives the time by which the lease ends earlier here than in the store
)

// newClaim returns the claim for a fencing token that was written to the store, or nil
// when the lease has ended.
func (w *Worker) newClaim(l *lease, began time.Time, kind, id string, token int64) *Claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setEnd(l, began)
	if w.expired(l) {
		return nil
	}
	c := &Claim{worker: w, lease: l, kind: kind, id: id, token: token}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	l.claims[c] = struct{}{}
	w.setTimers(l)
	return c
}

// extend records that the lease was renewed in the store at the time began.
func (w *Worker) extend(l *lease, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setEnd(l, began)
	if !w.expired(l) && len(l.claims) > 0 {
		w.setTimers(l)
	}
}

func (w *Worker) setEnd(l *lease, began time.Time) {
	if until := began.Add(w.o.Lease - w.o.Lease/margin); until.After(l.until) {
		l.until = until
	}
}

// setTimers starts or resets the timers of a lease that has claims. The caller must
// hold Worker.mu.
func (w *Worker) setTimers(l *lease) {
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
		w.o.Logger.Warn("work: lease renewal failed", "worker", l.name, "error", err)
		l.renew.Reset(w.o.Lease / retries)
	}
}

// lost is like expired; the caller must not hold Worker.mu.
func (w *Worker) lost(l *lease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expired(l)
}

// expired ends the lease if its time is over, and reports whether it has ended. The
// caller must hold Worker.mu.
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

// lose ends a lease for a reason other than the clock.
func (w *Worker) lose(l *lease, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !l.over {
		w.retire(l, why)
	}
}

// retire ends the lease and all its claims, and logs the loss if there are claims. The
// next claim begins a lease with another name. The caller must hold Worker.mu.
func (w *Worker) retire(l *lease, why string) {
	if w.lease == l {
		w.lease = nil
	}
	if claims := l.end(ErrLost); len(claims) > 0 {
		w.o.Logger.Error("work: lease lost", "worker", l.name, "claims", len(claims), "why", why)
	}
}

// end ends the lease and its claims, with this cause, and returns the claims.
func (l *lease) end(cause error) []*Claim {
	l.over = true
	l.stopTimers()
	claims := make([]*Claim, 0, len(l.claims))
	for c := range l.claims {
		c.cancel(cause)
		claims = append(claims, c)
	}
	clear(l.claims)
	return claims
}

func (l *lease) stopTimers() {
	if l.renew != nil {
		l.renew.Stop()
		l.expire.Stop()
	}
}
