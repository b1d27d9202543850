package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// callLog records the handled ids and the time of each call.
type callLog struct {
	mu   sync.Mutex
	from time.Time
	ids  []string
	at   []time.Duration
}

func (d *callLog) note(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids, d.at = append(d.ids, id), append(d.at, time.Since(d.from).Truncate(time.Millisecond))
}

func (d *callLog) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := ""
	for i, id := range d.ids {
		text += fmt.Sprintf("%s@%s ", id, d.at[i])
	}
	return text
}

func (d *callLog) expect(t *testing.T, want string) {
	t.Helper()
	if got := d.String(); got != want {
		t.Errorf("handled %q, want %q", got, want)
	}
}

// start returns a started timer queue. It must run in a synctest bubble.
func start(t *testing.T, s store.Durable, handle func(ctx context.Context, id string) error) *work.TimerQueue {
	t.Helper()
	a, err := work.NewTimerQueue(&work.TimerQueueOptions{Store: s, Kind: store.KindDelivery, Handle: handle, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

func unschedule(s store.Durable, id string) error {
	return s.Update(context.Background(), func(tx store.Tx) error { return tx.Unschedule(store.KindDelivery, id) })
}

// finishing returns a handler that logs the work and unschedules it.
func finishing(s store.Durable, d *callLog) func(context.Context, string) error {
	return func(_ context.Context, id string) error {
		d.note(id)
		return unschedule(s, id)
	}
}

func TestTimerQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		d := &callLog{from: time.Now()}
		schedule(t, s, "left over", -time.Hour)
		schedule(t, s, "in a minute", time.Minute)
		start(t, s, finishing(s, d))
		schedule(t, s, "in a second", time.Second)
		time.Sleep(500 * time.Millisecond)
		schedule(t, s, "at once", 0)
		time.Sleep(2 * time.Minute)
		d.expect(t, "left over@0s at once@500ms in a second@1s in a minute@1m0s ")
	})
}

func TestTimerQueueIgnoresOtherKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		d := &callLog{from: time.Now()}
		start(t, s, finishing(s, d))
		update(t, s, func(tx store.Tx) error { return tx.Schedule(store.KindFlow, "f", 1) })
		time.Sleep(time.Minute)
		d.expect(t, "")
	})
}

func TestTimerQueuePollsAfterLostHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		d := &callLog{from: time.Now()}
		start(t, s, finishing(s, d))
		s.dropHints.Store(true)
		time.Sleep(time.Second)
		schedule(t, s, "d", 0)
		time.Sleep(time.Minute)
		d.expect(t, "d@"+work.DefaultPoll.String()+" ")
	})
}

func TestTimerQueueBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		d := &callLog{from: time.Now()}
		failures := 4
		start(t, s, func(ctx context.Context, id string) error {
			if failures--; failures >= 0 {
				d.note(id)
				return errFull
			}
			return finishing(s, d)(ctx, id)
		})
		schedule(t, s, "d", 0)
		time.Sleep(time.Hour)
		d.expect(t, "d@0s d@50ms d@150ms d@350ms d@750ms ")
	})
}

func TestTimerQueueHandlesOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		d := &callLog{from: time.Now()}
		start(t, s, func(ctx context.Context, id string) error {
			d.note(id)
			if err := unschedule(s, id); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			return nil
		})
		schedule(t, s, "a", 0)
		time.Sleep(time.Second)
		schedule(t, s, "b", 0)
		for range 3 { // while "a" is being handled
			schedule(t, s, "a", 0)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour)
		d.expect(t, "a@0s b@1s a@1m0s ")
	})
}

func TestTimerQueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		d := &callLog{from: time.Now()}
		a := start(t, s, func(ctx context.Context, id string) error {
			d.note("begin")
			select {
			case <-ctx.Done():
				d.note("canceled")
			case <-time.After(30 * time.Second):
				d.note("end")
			}
			return ctx.Err()
		})
		schedule(t, s, "d", 0)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		d.expect(t, "begin@0s canceled@1s ")
		schedule(t, s, "e", 0)
		time.Sleep(time.Hour)
		d.expect(t, "begin@0s canceled@1s ")
		if err := a.Close(t.Context()); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestTimerQueueCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		d := &callLog{from: time.Now()}
		a := start(t, s, func(ctx context.Context, id string) error {
			time.Sleep(30 * time.Second)
			d.note("end")
			return ctx.Err()
		})
		schedule(t, s, "d", 0)
		synctest.Wait()
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		d.expect(t, "end@30s ")
	})
}

// Each of a thousand pieces is handled at its own time, with one timer for all.
func TestTimerQueueThousandItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		const n = 1000
		from := time.Now()
		update(t, s, func(tx store.Tx) error {
			for i := range n {
				if err := tx.Schedule(store.KindDelivery, fmt.Sprint(i), from.Add(time.Duration(i*37%n)*time.Second).UnixMilli()); err != nil {
					return err
				}
			}
			return nil
		})
		var mu sync.Mutex
		var wrong []string
		handled := 0
		start(t, s, func(_ context.Context, id string) error {
			mu.Lock()
			defer mu.Unlock()
			var i int
			fmt.Sscan(id, &i)
			if late := time.Since(from) - time.Duration(i*37%n)*time.Second; late < -time.Millisecond || late > time.Second {
				wrong = append(wrong, fmt.Sprint(id, " ", late))
			}
			handled++
			return unschedule(s, id)
		})
		time.Sleep((n + 1) * time.Second)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(wrong)
		if handled != n || len(wrong) > 0 {
			t.Errorf("handled %d of %d; at the wrong time: %v", handled, n, wrong)
		}
	})
}

func TestTimerQueueOptions(t *testing.T) {
	s := open(t)
	handle := func(context.Context, string) error { return nil }
	for _, o := range []*work.TimerQueueOptions{
		nil, {}, {Store: s}, {Store: s, Kind: store.KindRun}, {Store: s, Kind: store.KindRun, Handle: handle, Poll: -1},
	} {
		if _, err := work.NewTimerQueue(o); err == nil {
			t.Errorf("NewTimerQueue(%+v) did not fail", o)
		}
	}
}
