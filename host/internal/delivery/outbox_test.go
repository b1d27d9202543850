package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/delivery"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

func TestDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", nil)
		o.queue(sessionKey, "left-over")
		b := o.start()
		o.queue(sessionKey, "new")
		for _, id := range []string{"left-over", "new"} {
			d, err := b.Wait(t.Context(), id)
			if err != nil || d.Status != store.DeliveryDelivered {
				t.Fatalf("%+v, %v", d, err)
			}
			o.expect(id, store.DeliveryDelivered, 1, "")
		}
		want := sink.Message{
			IdempotencyKey: "new", Target: abi.Target{Channel: "chat", To: "7"}, Text: "new", SessionKey: sessionKey, RunID: "run-new",
		}
		if s.texts() != "left-over new" || s.posted[1] != want {
			t.Errorf("%+v", s.posted)
		}
	})
}

func TestTargetOfSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("telegram", nil)
		o.session("agent:main:telegram:group:-100:topic:4", "", "")
		o.queue("agent:main:telegram:group:-100:topic:4", "a")
		o.start()
		synctest.Wait()
		want := abi.Target{Channel: "telegram", To: "-100", ThreadID: "4"}
		if d := o.expect("a", store.DeliveryDelivered, 1, ""); d.Target != want || s.posted[0].Target != want {
			t.Errorf("%+v, %+v", d.Target, s.posted)
		}
	})
}

// TestTargetIsKept changes the session's target between two attempts.
func TestTargetIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", down)
		other := o.sink("other", nil)
		o.queue(sessionKey, "a")
		o.start()
		synctest.Wait()
		o.session(sessionKey, "other", "8")
		s.set(nil)
		o.queue(sessionKey, "b")
		time.Sleep(time.Minute)
		if s.texts() != "a" || other.texts() != "b" {
			t.Errorf("%q, %q", s.texts(), other.texts())
		}
	})
}

// TestTargetChangesInQueue changes the session's target after the delivery was queued
// and before its first attempt.
func TestTargetChangesInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s, other := o.sink("chat", nil), o.sink("other", nil)
		sinks := o.o.Sink
		o.o.Sink = func(channel string) (sink.Sink, error) {
			if channel == "chat" {
				o.session(sessionKey, "other", "8")
			}
			return sinks(channel)
		}
		o.queue(sessionKey, "a")
		o.start()
		synctest.Wait()
		if d := o.expect("a", store.DeliveryDelivered, 1, ""); d.Target.Channel != "other" || s.texts() != "" || other.texts() != "a" {
			t.Errorf("%+v, %q, %q", d.Target, s.texts(), other.texts())
		}
	})
}

func TestSkips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", nil)
		o.session("agent:main:nowhere", "internal", "x")
		o.session("agent:main:quiet", "chat", "9")
		o.o.Allowed = func(s *abi.Session, target abi.Target) error {
			if s.Key == "agent:main:quiet" && target.To == "9" {
				return errors.New("session.sendPolicy denies it")
			}
			return nil
		}
		o.queue("agent:main:gone", "gone")
		o.queue("agent:main:nowhere", "nowhere")
		o.queue("agent:main:quiet", "quiet")
		b := o.start()
		synctest.Wait()
		o.expect("gone", store.DeliverySkipped, 0, "the session agent:main:gone no longer exists")
		o.expect("nowhere", store.DeliverySkipped, 0, "has no channel to deliver to")
		o.expect("quiet", store.DeliverySkipped, 0, "session.sendPolicy denies it")
		if n := len(s.tried()); n != 0 {
			t.Errorf("%d posts", n)
		}

		// A skipped delivery can be sent again, to the session's current target.
		o.session("agent:main:nowhere", "chat", "10")
		if err := b.Resend(t.Context(), "nowhere"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		o.expect("nowhere", store.DeliveryDelivered, 1, "")
		if s.texts() != "nowhere" || s.posted[0].To != "10" {
			t.Errorf("%+v", s.posted)
		}
	})
}

// TestFlowRecordsOutcome asserts that the flow of a delivery records its outcome (S9).
func TestFlowRecordsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.sink("chat", nil)
		o.session("agent:main:nowhere", "internal", "x")
		for _, key := range []string{sessionKey, "agent:main:nowhere"} {
			o.update(func(tx store.Tx) error {
				d := &store.Delivery{ID: "d " + key, SessionKey: key, FlowID: "f " + key, Text: "x", Status: store.DeliveryPending, CreatedAt: time.Now().UnixMilli()}
				return errors.Join(tx.PutFlow(&store.Flow{ID: "f " + key, Status: store.FlowDone, Note: "queued"}), work.QueueDelivery(tx, d))
			})
		}
		b := o.start()
		synctest.Wait()
		check := func(key, want string) {
			t.Helper()
			if got := o.flow("f " + key).StatusText(); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
		check(sessionKey, "queued: delivered")
		check("agent:main:nowhere", "queued: skipped: the session agent:main:nowhere has no channel")
		o.session("agent:main:nowhere", "chat", "10")
		if err := b.Resend(t.Context(), "d agent:main:nowhere"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check("agent:main:nowhere", "queued: delivered")
	})
}

// TestPolicyBeforeEveryAttempt changes the policy between two attempts.
func TestPolicyBeforeEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		var denied error
		o.o.Allowed = func(*abi.Session, abi.Target) error { return denied }
		o.sink("chat", func(context.Context, *sink.Message) error {
			denied = errors.New("denied by now")
			return errDown
		})
		o.queue(sessionKey, "a")
		o.start()
		time.Sleep(time.Minute)
		o.expect("a", store.DeliverySkipped, 1, "denied by now")
	})
}

func TestNoSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.queue(sessionKey, "a")
		b := o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryFailed, 0, "no sink for chat")

		o.o.Sink = func(string) (sink.Sink, error) { return nil, nil }
		if err := b.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.queue(sessionKey, "b")
		o.start()
		synctest.Wait()
		o.expect("b", store.DeliveryFailed, 0, "channel chat has no sink: set delivery.channels.chat")
	})
}

func TestPermanentFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(_ context.Context, m *sink.Message) error {
			if m.Text == "a" {
				return fmt.Errorf("part 2 of 3: %w", &sink.Permanent{Err: errors.New("no such chat\xff" + strings.Repeat("!", 5000))})
			}
			return nil
		})
		o.queue(sessionKey, "a", "b")
		o.start()
		synctest.Wait()
		if d := o.expect("a", store.DeliveryFailed, 1, "part 2 of 3: no such chat!"); len(d.Error) > 1100 {
			t.Errorf("the error has %d bytes", len(d.Error))
		}
		o.expect("b", store.DeliveryDelivered, 1, "")
		if got := len(s.tried()); got != 2 {
			t.Errorf("%d posts", got)
		}
	})
}

func TestResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.o.MaxAge = func() time.Duration { return time.Hour }
		s := o.sink("chat", refuse)
		o.queue(sessionKey, "a")
		b := o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryFailed, 1, "no")

		// Resend resets the delivery's age: it is retried for an hour from now, to the
		// same target.
		time.Sleep(3 * time.Hour)
		o.session(sessionKey, "elsewhere", "8")
		s.set(down)
		again := time.Now()
		if err := b.Resend(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := b.Resend(t.Context(), "a"); !errors.Is(err, abi.Conflict) || !strings.Contains(err.Error(), "a is pending") {
			t.Errorf("resend of a pending delivery: %v", err)
		}
		d, err := b.Wait(t.Context(), "a")
		if err != nil || d.Status != store.DeliveryFailed || d.Target.To != "7" || time.Since(again).Round(time.Second) != time.Hour {
			t.Errorf("%+v, %v after %s", d, err, time.Since(again))
		}
		s.set(nil)
		if err := b.Resend(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		o.expect("a", store.DeliveryDelivered, 1, "")
		if err := b.Resend(t.Context(), "a"); !errors.Is(err, abi.Conflict) {
			t.Errorf("resend of a delivered one: %v", err)
		}
		if err := b.Resend(t.Context(), "none"); !errors.Is(err, abi.NotFound) {
			t.Errorf("resend of an unknown one: %v", err)
		}
		if s.posted[0].IdempotencyKey != "a" {
			t.Errorf("the key became %q", s.posted[0].IdempotencyKey)
		}
	})
}

// TestResendAtOnce sends a delivery again right after its failure is recorded, before
// the outbox has removed it from its queue.
func TestResendAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", refuse)
		b := o.start()
		o.store.after = func() {
			if o.row("a").Status != store.DeliveryFailed {
				return
			}
			o.store.after = nil
			s.set(nil)
			if err := b.Resend(context.Background(), "a"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond) // lets the subscribers be notified
		}
		o.queue(sessionKey, "a")
		time.Sleep(time.Second)
		o.expect("a", store.DeliveryDelivered, 1, "")
		if got := len(s.tried()); got != 2 {
			t.Errorf("%d posts", got)
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.sink("chat", func(ctx context.Context, _ *sink.Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		b := o.start()
		if _, err := b.Wait(t.Context(), "none"); !errors.Is(err, abi.NotFound) {
			t.Errorf("an unknown one: %v", err)
		}
		o.queue(sessionKey, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if _, err := b.Wait(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait with a deadline: %v", err)
		}
		// Another process ends the delivery, without a notification in this one.
		go func() {
			time.Sleep(time.Second)
			o.update(func(tx store.Tx) error {
				d, err := tx.Delivery("a")
				if err != nil {
					return err
				}
				d.Status, d.EndedAt = store.DeliveryDelivered, 1
				return errors.Join(tx.PutDelivery(d), tx.Unschedule(store.KindDelivery, "a"))
			})
		}()
		if d, err := b.Wait(t.Context(), "a"); err != nil || d.Status != store.DeliveryDelivered {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		w, err := work.NewWorker(&work.WorkerOptions{Store: o.store})
		if err != nil {
			t.Fatal(err)
		}
		for name, options := range map[string]*delivery.Options{
			"Store":  {Worker: w, Sink: o.o.Sink},
			"Worker": {Store: o.store, Sink: o.o.Sink},
			"Sink":   {Store: o.store, Worker: w},
		} {
			if _, err := delivery.New(options); err == nil || !strings.Contains(err.Error(), "delivery: Options."+name+" is") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := delivery.New(nil); err == nil {
			t.Error("nil options were accepted")
		}
		b, err := delivery.New(&delivery.Options{Store: o.store, Worker: w, Sink: o.o.Sink})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("closing an outbox that was not started: %v", err)
		}
	})
}
