package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// attemptTimes returns the times of a text's attempts, relative to the start of the test.
func attemptTimes(t *testing.T, s *recorder, text string) []time.Duration {
	t.Helper()
	var all []time.Duration
	for _, a := range s.tried() {
		if what, when, _ := strings.Cut(a, "@"); what == text {
			d, err := time.ParseDuration(when)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
		}
	}
	return all
}

// TestOutage has a service that is down for an hour. Each message is delivered once and
// in order, including messages that arrive during the outage.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		up := time.Now().Add(time.Hour)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			if time.Now().Before(up) {
				return errDown
			}
			return nil
		})
		b := o.start()
		var ids []string
		for i := range 12 {
			id := fmt.Sprintf("m%02d", i)
			ids = append(ids, id)
			o.queue(sessionKey, id)
			time.Sleep(7 * time.Minute)
		}
		for _, id := range ids {
			if d, err := b.Wait(t.Context(), id); err != nil || d.Status != store.DeliveryDelivered {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if got := s.texts(); got != strings.Join(ids, " ") {
			t.Errorf("posted %s", got)
		}
		// 1 s doubling to 5 min, at most a quarter less: about 9 attempts in 9 min, and
		// 10 to 14 in the rest of the hour.
		tries := attemptTimes(t, s, "m00")
		if len(tries) < 18 || len(tries) > 26 {
			t.Errorf("%d attempts: %v", len(tries), tries)
		}
		pause := time.Second
		for i := 1; i < len(tries); i++ {
			if got := tries[i] - tries[i-1]; got < pause*3/4-time.Second/100 || got > pause+time.Second/100 {
				t.Errorf("attempt %d came after %s; want %s, or up to a quarter less", i+1, got, pause)
			}
			pause = min(2*pause, 5*time.Minute)
		}
	})
}

func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.o.MaxAge = func() time.Duration { return time.Hour }
		s := o.sink("chat", down)
		o.queue(sessionKey, "a")
		b := o.start()
		if d, err := b.Wait(t.Context(), "a"); err != nil || d.Error != "gave up after 1h0m0s: last error: connection refused" {
			t.Errorf("%+v, %v", d, err)
		}
		tries := attemptTimes(t, s, "a")
		if last := tries[len(tries)-1]; last != time.Hour {
			t.Errorf("the last attempt came after %s", last)
		}
		o.expect("a", store.DeliveryFailed, len(tries), "gave up")
	})
}

// TestOldDelivery asserts that a delivery is attempted once even if it exceeded its
// maximum age while no outbox was running.
func TestOldDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(_ context.Context, m *sink.Message) error {
			if m.Text == "b" {
				return errDown
			}
			return nil
		})
		o.queue(sessionKey, "a", "b")
		time.Sleep(48 * time.Hour) // the outbox is not started yet
		o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryDelivered, 1, "")
		o.expect("b", store.DeliveryFailed, 1, "gave up after 24h0m0s: last error: connection refused")
		if n := len(s.tried()); n != 2 {
			t.Errorf("%d attempts", n)
		}
	})
}

// TestLater has a service that requests a pause. Nothing is posted to that target during
// the pause, and other targets are not affected.
func TestLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.session("agent:main:other", "chat", "8")
		first := true
		s := o.sink("chat", func(_ context.Context, m *sink.Message) error {
			if m.To == "7" && first {
				first = false
				return &sink.Later{After: 90 * time.Second, Err: errors.New("slow down")}
			}
			return nil
		})
		o.queue(sessionKey, "a", "b")
		o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryPending, 1, "slow down")
		o.expect("b", store.DeliveryPending, 0, "")
		o.queue(sessionKey, "c")
		o.queue("agent:main:other", "d")
		time.Sleep(10 * time.Minute)
		if got := fmt.Sprint(s.tried()); got != "[a@0s d@0s a@1m30s b@1m30s c@1m30s]" {
			t.Error(got)
		}
	})
}

func TestLaterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			return &sink.Later{After: 30 * 24 * time.Hour, Err: errors.New("next month")}
		})
		o.o.MaxAge = func() time.Duration { return 150 * time.Minute }
		o.queue(sessionKey, "a")
		o.start()
		time.Sleep(3 * time.Hour)
		if got := fmt.Sprint(s.tried()); got != "[a@0s a@1h0m0s a@2h0m0s a@2h30m0s]" {
			t.Error(got)
		}
		o.expect("a", store.DeliveryFailed, 4, "gave up after 2h30m0s: last error: next month")
	})
}

// TestLaterAtOnce has a service that requests a pause of 0. The outbox still pauses.
func TestLaterAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			return &sink.Later{Err: errors.New("now")}
		})
		o.queue(sessionKey, "a")
		o.start()
		time.Sleep(time.Minute)
		if n := len(s.tried()); n < 5 || n > 8 {
			t.Errorf("%d attempts in a minute", n)
		}
	})
}

// TestFailingMessage has a message that always fails. Later messages are delivered after
// at most one pause.
func TestFailingMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(_ context.Context, m *sink.Message) error {
			if strings.HasPrefix(m.Text, "bad") {
				return errDown
			}
			return nil
		})
		o.queue(sessionKey, "bad", "a")
		o.start()
		synctest.Wait()
		if s.texts() != "a" {
			t.Errorf("posted %q", s.texts())
		}
		for range 4 {
			o.queue(sessionKey, "b")
			time.Sleep(5 * time.Minute)
			o.expect("b", store.DeliveryDelivered, 1, "")
		}
	})
}

// TestRoundEnds has more failing messages than the failures after which a round ends.
func TestRoundEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", down)
		for i := range 10 {
			o.queue(sessionKey, fmt.Sprint(i))
		}
		o.start()
		synctest.Wait()
		if got := fmt.Sprint(s.tried()); got != "[0@0s 1@0s 2@0s 3@0s]" {
			t.Error(got)
		}
	})
}

func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error { panic("nil map") })
		o.queue(sessionKey, "a")
		o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryPending, 1, "the sink panicked")
		s.set(nil)
		time.Sleep(time.Second)
		o.expect("a", store.DeliveryDelivered, 2, "")
		if s.texts() != "a" {
			t.Errorf("%q", s.texts())
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		o.sink("chat", func(ctx context.Context, _ *sink.Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		o.queue(sessionKey, "a")
		o.start()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		o.expect("a", store.DeliveryPending, 1, "deadline exceeded")
	})
}

// TestRestart closes the outbox while a delivery waits for its next attempt.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			return &sink.Later{After: time.Minute, Err: errDown}
		})
		o.queue(sessionKey, "a")
		b := o.start()
		synctest.Wait()
		if err := b.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.expect("a", store.DeliveryPending, 1, "connection refused")
		s.set(nil)
		o.start()
		time.Sleep(2 * time.Minute)
		if got := fmt.Sprint(s.tried()); got != "[a@0s a@1m0s]" {
			t.Error(got)
		}
		o.expect("a", store.DeliveryDelivered, 2, "")
	})
}
