package gateway

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/gateway/local"
)

// acquire takes the database. It waits for an owner that was told to end, and for a
// command such as a call, which ends by itself: one that waited for an answer when the
// last gateway died has become the owner.
func acquire(ctx context.Context, o *Options) (*local.Owner, error) {
	start, said := time.Now(), false
	for {
		owner, err := local.Acquire(ctx, o.Store.Location(), o.Store.Ownership(), o.local())
		var owned *local.Error
		if !errors.As(err, &owned) {
			return owner, err
		}
		ending, waited := owned.Owner.Ending || gone(owned.Owner.PID), time.Since(start)
		switch {
		case stays(&owned.Owner) && !ending, ending && waited > o.patience():
			return nil, err
		case !said && waited > Notice:
			said = true
			o.Note(fmt.Sprintf("waiting until %s has ended; interrupt that one to let it hand over", &owned.Owner))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stays reports whether an owner runs until it is told to end. One with another API may
// write a notice without that member: then it must be assumed.
func stays(i *local.Info) bool { return i.Stays || i.PID != 0 && i.API != local.API }

// gone reports whether a process has ended. One that was killed may have left a child
// that is not a program of its own yet, and holds the lock until it is.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
