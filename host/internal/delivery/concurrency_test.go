package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

func hang(ctx context.Context, _ *sink.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestHangingChannel asserts that a channel whose posts hang does not stop another one.
func TestHangingChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		slow, quick := o.sink("slow", hang), o.sink("quick", nil)
		for i := range 20 {
			for _, channel := range []string{"slow", "quick"} {
				key := fmt.Sprintf("agent:main:%s:%d", channel, i)
				o.session(key, channel, fmt.Sprint(i))
				o.queue(key, key)
			}
		}
		o.start()
		synctest.Wait()
		if n := len(quick.posted); n != 20 {
			t.Errorf("%d messages reached the quick channel", n)
		}
		if slow.now != 4 || slow.peak != 4 {
			t.Errorf("at most %d concurrent posts to the slow channel, %d now; want 4", slow.peak, slow.now)
		}
	})
}

// TestConcurrency asserts the limits of concurrent posts, with channels whose posts
// hang.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		var sinks []*recorder
		for c := range 5 {
			channel := fmt.Sprint("c", c)
			sinks = append(sinks, o.sink(channel, hang))
			for i := range 5 {
				key := fmt.Sprintf("agent:main:%s:%d", channel, i)
				o.session(key, channel, fmt.Sprint(i))
				o.queue(key, key)
			}
		}
		o.start()
		synctest.Wait()
		total := 0
		for _, s := range sinks {
			total += s.now
			if s.peak > 4 {
				t.Errorf("%d concurrent posts to one channel, want at most 4", s.peak)
			}
		}
		if total != 16 {
			t.Errorf("%d concurrent posts, want 16", total)
		}
	})
}

// TestOneAtATime asserts that messages to one recipient never overlap, and are posted in
// the order of their creation, not of their insertion.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			time.Sleep(time.Second)
			return nil
		})
		for _, id := range []string{"c", "a", "b"} {
			o.update(func(tx store.Tx) error {
				at := time.Now().Add(-time.Hour).UnixMilli() + int64(id[0])
				d := &store.Delivery{ID: id, SessionKey: sessionKey, Text: id, Status: store.DeliveryPending, CreatedAt: at}
				if err := tx.PutDelivery(d); err != nil {
					return err
				}
				return tx.Schedule(store.KindDelivery, id, time.Now().UnixMilli())
			})
		}
		o.start()
		o.queue(sessionKey, "d")
		time.Sleep(time.Minute)
		if s.texts() != "a b c d" || s.peak != 1 {
			t.Errorf("posted %q, at most %d concurrently", s.texts(), s.peak)
		}
	})
}
