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

// TestCrashBetweenPostAndRecord makes the store fail right after the post. The next
// process posts again, with the same key and to the same target.
func TestCrashBetweenPostAndRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			o.store.fails.Store(true)
			return nil
		})
		o.queue(sessionKey, "a")
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

// TestStoreFailsAfterPost makes the store fail for longer than a lease. The same process
// then records the delivery that it has posted, and does not post it again.
func TestStoreFailsAfterPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			o.store.fails.Store(true)
			return nil
		})
		o.queue(sessionKey, "a")
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

// TestStoreFailsBeforePost asserts that a delivery that cannot be claimed is not posted.
func TestStoreFailsBeforePost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", nil)
		o.start()
		o.store.fails.Store(true)
		o.queue(sessionKey, "a")
		time.Sleep(time.Minute)
		if n := len(s.tried()); n != 0 {
			t.Errorf("%d posts", n)
		}
		o.store.fails.Store(false)
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 1, "")
	})
}

// TestStaleWorker starts a second outbox, which takes over, during a post of the first.
// The first outbox cancels its post, and then records no outcome.
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
			return &sink.Permanent{Err: errors.New("error of a stale worker")}
		})
		o.queue(sessionKey, "a")
		o.start()
		synctest.Wait()
		o.start() // takes over
		synctest.Wait()
		o.expect("a", store.DeliveryDelivered, 2, "")
		time.Sleep(20 * time.Second) // the first worker detects the takeover at its next heartbeat
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the stale post's context: %v", err)
			}
		default:
			t.Error("the stale post was not canceled")
			close(release)
		}
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 2, "")
		if got := fmt.Sprint(s.tried()); got != "[a@0s a@0s]" {
			t.Error(got)
		}
	})
}

// TestStaleRecord ends the first post before the first worker has detected the takeover.
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
			return &sink.Permanent{Err: errors.New("error of a stale worker")}
		})
		o.queue(sessionKey, "a")
		o.start()
		synctest.Wait()
		o.start()
		synctest.Wait()
		close(release)
		time.Sleep(time.Minute)
		o.expect("a", store.DeliveryDelivered, 2, "")
	})
}

// TestClose asserts that Close waits for the running post, and that no other post
// begins.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(context.Context, *sink.Message) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		o.queue(sessionKey, "a", "b")
		b := o.start()
		synctest.Wait()
		if err := b.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.expect("a", store.DeliveryDelivered, 1, "")
		o.expect("b", store.DeliveryPending, 0, "")
		o.queue(sessionKey, "c")
		time.Sleep(time.Minute)
		if s.texts() != "a" {
			t.Errorf("posted %q", s.texts())
		}
	})
}

// TestCloseCancels asserts that Close cancels a post when its context ends. The next
// process retries the delivery.
func TestCloseCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		s := o.sink("chat", func(ctx context.Context, _ *sink.Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		o.queue(sessionKey, "a")
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
