package e2e

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

const (
	interval   = 100 * time.Millisecond // between two counts
	stallLimit = time.Minute            // without progress
)

// Drain blocks until no run, delivery or flow is scheduled within the horizon. It fails
// if their number has not reached a new minimum for a minute.
func Drain(ctx context.Context, db store.Durable, horizon time.Duration) error {
	return drain(ctx, func() (int, error) { return countDue(ctx, db, time.Now().Add(horizon)) })
}

func drain(ctx context.Context, count func() (int, error)) error {
	minimum, since := -1, time.Now()
	for {
		open, err := count()
		switch {
		case err != nil || open == 0:
			return err
		case minimum < 0 || open < minimum:
			minimum, since = open, time.Now()
		case time.Since(since) > stallLimit:
			return fmt.Errorf("%d flows, runs or deliveries are still open; the minimum of %d has not decreased for %s", open, minimum, stallLimit)
		}
		if err := Sleep(ctx, interval); err != nil {
			return err
		}
	}
}

func countDue(ctx context.Context, db store.Durable, before time.Time) (sum int, err error) {
	view, err := db.View(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	for _, kind := range kinds {
		n, err := view.CountDue(ctx, kind, before.UnixMilli())
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

var kinds = []string{store.KindFlow, store.KindRun, store.KindDelivery}

// Pause waits between two polls of state that another process changes.
func Pause(ctx context.Context) error { return Sleep(ctx, 5*time.Millisecond) }

// Sleep waits for d. It fails if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
