package delivery

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// result is the effect of an attempt on the queue.
type result struct {
	retry    bool          // the delivery is still pending
	pause    time.Duration // pause before the next round
	endRound bool          // the round ends now
	moveTo   *destination  // the queue to which the delivery moves; nil: it does not move
}

// attempt makes one attempt to post a delivery. If the delivery has been posted
// already, attempt only records the outcome.
func (b *Outbox) attempt(to destination, p *pending) result {
	release, ok := b.slots.acquire(b.stop, to.channel)
	if !ok {
		return result{retry: true, endRound: true}
	}
	defer release()
	dest, noSink := b.sink(to.channel)
	var d *store.Delivery
	claim, err := b.o.Worker.Claim(b.ctx, store.KindDelivery, p.id, func(tx store.Tx) (err error) {
		if d, err = b.prepare(tx, p); err != nil || d == nil || d.Status != store.DeliveryPending || p.posted {
			return err
		}
		if destinationOf(d.Target) == to && noSink == nil {
			d.Attempts++
		}
		return tx.PutDelivery(d)
	})
	if err != nil {
		return b.storeFailed(p, err)
	}
	if claim == nil { // the delivery has ended, or another process holds it
		return result{}
	}
	defer claim.Close()
	switch {
	case d == nil:
		return b.record(p, nil, func(ctx context.Context) error { return claim.Finish(ctx, nil) })
	case d.Status != store.DeliveryPending:
		return b.conclude(claim, p, d, d.Status, d.Error)
	case p.posted:
		return b.conclude(claim, p, d, store.DeliveryDelivered, "")
	case destinationOf(d.Target) != to:
		// The session's target has changed since the delivery was queued.
		moved := destinationOf(d.Target)
		r := b.record(p, nil, func(ctx context.Context) error { return claim.GiveBack(ctx, nil) })
		if !r.retry {
			r.moveTo = &moved
		}
		return r
	case noSink != nil:
		return b.conclude(claim, p, d, store.DeliveryFailed, noSink.Error())
	}
	return b.recordPost(claim, p, d, b.post(claim, dest, d))
}

// prepare reads a delivery and resolves its target, and writes nothing. It returns nil
// if the delivery does not exist or has ended. Otherwise its status is skipped if it
// must not be posted.
func (b *Outbox) prepare(tx store.Tx, p *pending) (*store.Delivery, error) {
	d, err := tx.Delivery(p.id)
	if err != nil || d == nil || d.Ended() {
		return nil, err
	}
	if p.posted {
		return d, nil
	}
	s, err := tx.Session(d.SessionKey)
	if err != nil {
		return nil, err
	}
	skip := func(format string, args ...any) {
		d.Status, d.Error = store.DeliverySkipped, truncateError(fmt.Sprintf(format, args...))
	}
	if d.Target.IsZero() {
		d.Target = resolve(s)
	}
	switch {
	case s == nil:
		skip("the session %s no longer exists", d.SessionKey)
	case d.Target.IsZero():
		skip("the session %s has no channel to deliver to: nothing was said to it from one yet", d.SessionKey)
	default:
		if err := b.o.Allowed(s, d.Target); err != nil {
			skip("%v", err)
		}
	}
	return d, nil
}

func (b *Outbox) sink(channel string) (sink.Sink, error) {
	dest, err := b.o.Sink(channel)
	if err == nil && dest == nil {
		err = fmt.Errorf("channel %s has no sink: set delivery.channels.%[1]s", channel)
	}
	return dest, err
}

// post posts a delivery. A panic of the sink is a temporary failure.
func (b *Outbox) post(claim *work.Claim, dest sink.Sink, d *store.Delivery) (err error) {
	ctx, cancel := context.WithTimeout(claim.Context(), postTimeout)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	defer func() {
		if why := recover(); why != nil {
			b.o.Logger.Error("delivery: the sink panicked", "delivery", d.ID, "channel", d.Target.Channel,
				"panic", why, "stack", string(debug.Stack()))
			err = errors.New("the sink panicked: see the log")
		}
	}()
	return dest.Post(ctx, &sink.Message{
		IdempotencyKey: d.ID, Target: d.Target, Text: d.Text, SessionKey: d.SessionKey, RunID: d.RunID,
	})
}

// recordPost records the outcome of a post that returned err.
func (b *Outbox) recordPost(claim *work.Claim, p *pending, d *store.Delivery, err error) result {
	var permanent *sink.Permanent
	now, deadline := b.o.Now(), time.UnixMilli(d.CreatedAt).Add(b.o.MaxAge())
	switch {
	case err == nil:
		p.posted = true
		return b.conclude(claim, p, d, store.DeliveryDelivered, "")
	case errors.As(err, &permanent):
		return b.conclude(claim, p, d, store.DeliveryFailed, err.Error())
	case !now.Before(deadline):
		return b.conclude(claim, p, d, store.DeliveryFailed, fmt.Sprintf("gave up after %s: last error: %v", b.o.MaxAge(), err))
	}
	var later *sink.Later
	endRound := errors.As(err, &later)
	next := now.Add(pauseAfter(d.Attempts, later))
	if next.After(deadline) {
		next = deadline
	}
	d.Error, d.UpdatedAt = truncateError(err.Error()), now.UnixMilli()
	b.o.Logger.Warn("delivery: attempt failed", "delivery", d.ID, "channel", d.Target.Channel, "attempt", d.Attempts, "next", next, "error", d.Error)
	r := b.record(p, d, func(ctx context.Context) error {
		return claim.GiveBack(ctx, func(tx store.Tx) error {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
			return tx.Schedule(store.KindDelivery, d.ID, next.UnixMilli())
		})
	})
	if r.retry {
		return r
	}
	return result{retry: true, pause: next.Sub(now), endRound: endRound}
}

// conclude records the final status of a delivery.
func (b *Outbox) conclude(claim *work.Claim, p *pending, d *store.Delivery, status, why string) result {
	now := b.o.Now().UnixMilli()
	d.Status, d.Error, d.UpdatedAt, d.EndedAt = status, truncateError(why), now, now
	return b.record(p, d, func(ctx context.Context) error {
		return claim.Finish(ctx, func(tx store.Tx) error {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
			return recordInFlow(tx, d)
		})
	})
}

// recordInFlow records the outcome of a delivery in its flow (S9).
func recordInFlow(tx store.Tx, d *store.Delivery) error {
	if d.FlowID == "" {
		return nil
	}
	f, err := tx.Flow(d.FlowID)
	if err != nil || f == nil {
		return err
	}
	if f.Delivery = d.Status; d.Error != "" {
		f.Delivery += ": " + d.Error
	}
	return tx.PutFlow(f)
}

// record calls write, even while the outbox is being closed. If write fails, the
// delivery stays in its queue. d is the delivery that write stores, or nil.
func (b *Outbox) record(p *pending, d *store.Delivery, write func(context.Context) error) result {
	if err := write(context.WithoutCancel(b.ctx)); err != nil {
		return b.storeFailed(p, err)
	}
	p.storeFailures = 0
	if d != nil && d.Ended() {
		b.watch.Notify(d.ID)
		if d.Status == store.DeliveryFailed {
			b.o.Logger.Error("delivery: failed", "delivery", d.ID, "channel", d.Target.Channel, "attempts", d.Attempts, "error", d.Error)
		}
	}
	return result{}
}

// storeFailed pauses the queue because the store failed or the claim was lost.
func (b *Outbox) storeFailed(p *pending, err error) result {
	p.storeFailures++
	b.o.Logger.Error("delivery: cannot record the attempt, will retry", "delivery", p.id, "posted", p.posted, "error", err)
	return result{retry: true, pause: work.Backoff(p.storeFailures), endRound: true}
}
