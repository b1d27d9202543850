package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// TestCrashBetweenPostAndMark lets the process lose its store right after the
// post. The next process posts again, with the same key and to the same target.
func TestCrashBetweenPostAndMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			o.store.fails.Store(true)
			return nil
		})
		o.say(sessionKey, "a")
		dead := o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryPending, 1, "")
		if err := dead.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.texts() != "a" {
			t.Fatalf("posted %q", s.texts())
		}

		s.set(nil)
		o.store.fails.Store(false)
		o.session(sessionKey, "elsewhere", "8")
		o.start()
		synctest.Wait()
		o.expect("a", store.DeliveryDelivered, 2, "")
		if len(s.posted) != 2 || s.posted[0] != s.posted[1] || s.posted[1].IdempotencyKey != "a" {
			t.Errorf("%+v", s.posted)
		}
	})
}

// TestStoreFailsAfterPost gets the store back: the same process records what it
// has posted, and does not post it again. It takes longer than the lease lasts.
func TestStoreFailsAfterPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			o.store.fails.Store(true)
			return nil
		})
		o.say(sessionKey, "a")
		o.start()
		time.Sleep(time.Hour)
		o.expect("a", store.DeliveryPending, 1, "")
		s.set(nil)
		o.store.fails.Store(false)
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 1, "")
		if s.texts() != "a" {
			t.Errorf("posted %q", s.texts())
		}
	})
}

// TestStoreFailsBeforePost posts nothing that it could not claim.
func TestStoreFailsBeforePost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", nil)
		o.start()
		o.store.fails.Store(true)
		o.say(sessionKey, "a")
		time.Sleep(time.Minute)
		if n := len(s.tried()); n != 0 {
			t.Errorf("%d posts", n)
		}
		o.store.fails.Store(false)
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 1, "")
	})
}

// TestStaleWorker has another process take over during a post. What the first one
// records afterwards changes nothing; its post is told to end.
func TestStaleWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		release, ended := make(chan struct{}), make(chan error, 1)
		first := true
		s := o.sink("chat", func(ctx context.Context, _ *sink.Message) error {
			if !first {
				return nil
			}
			first = false
			select {
			case <-ctx.Done():
			case <-release:
			}
			ended <- ctx.Err()
			return &sink.Permanent{Err: errors.New("what a stale worker says")}
		})
		o.say(sessionKey, "a")
		o.start()
		synctest.Wait()
		o.start() // takes over
		synctest.Wait()
		o.expect("a", store.DeliveryDelivered, 2, "")
		time.Sleep(20 * time.Second) // its next heartbeat tells the first one
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the stale post's context: %v", err)
			}
		default:
			t.Error("the stale post goes on")
			close(release)
		}
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 2, "")
		if got := fmt.Sprint(s.tried()); got != "[a@0s a@0s]" {
			t.Error(got)
		}
	})
}

// TestStaleRecord lets the first post end before its worker has noticed.
func TestStaleRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		release := make(chan struct{})
		first := true
		o.sink("chat", func(context.Context, *sink.Message) error {
			if !first {
				return nil
			}
			first = false
			<-release
			return &sink.Permanent{Err: errors.New("what a stale worker says")}
		})
		o.say(sessionKey, "a")
		o.start()
		synctest.Wait()
		o.start()
		synctest.Wait()
		close(release)
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 2, "")
	})
}

// TestClose waits for the post that has begun, and begins no other.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		o.say(sessionKey, "a", "b")
		b := o.start()
		synctest.Wait()
		if err := b.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.expect("a", store.DeliveryDelivered, 1, "")
		o.expect("b", store.DeliveryPending, 0, "")
		o.say(sessionKey, "c")
		time.Sleep(time.Minute)
		if s.texts() != "a" {
			t.Errorf("posted %q", s.texts())
		}
	})
}

// TestCloseCancels ends a post when the time for closing is over. The delivery
// is tried again by the next process.
func TestCloseCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(ctx context.Context, _ *sink.Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		o.say(sessionKey, "a")
		b := o.start()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := b.close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		o.expect("a", store.DeliveryPending, 1, "context canceled")
		s.set(nil)
		o.start()
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 2, "")
	})
}
