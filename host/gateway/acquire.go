package gateway

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/gateway/local"
)

// acquire makes this process the owner of the database. It waits for an owner that is
// shutting down, and for a short command, which ends by itself. For example, a command
// that waits for an answer becomes the owner when the gateway dies.
func acquire(ctx context.Context, o *Options) (*local.Owner, error) {
	start, noted := time.Now(), false
	for {
		owner, err := local.Acquire(ctx, o.Store.Location(), o.Store.Ownership(), o.local())
		var owned *local.Error
		if !errors.As(err, &owned) {
			return owner, err
		}
		ending, waited := owned.Owner.Ending || exited(owned.Owner.PID), time.Since(start)
		switch {
		case longRunning(&owned.Owner) && !ending, ending && waited > o.shutdownTimeout():
			return nil, err
		case !noted && waited > NoticeDelay:
			noted = true
			o.Note(fmt.Sprintf("waiting for %s to exit; interrupt that process to take over the database", &owned.Owner))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// longRunning reports whether an owner runs until it is stopped. It returns true for an
// owner with another API version, whose notice may lack the member "stays".
func longRunning(i *local.Info) bool { return i.LongRunning || i.PID != 0 && i.API != local.API }

// exited reports whether a process has ended. Its lock may still be held: a child that it
// forked holds the lock until the child's exec.
func exited(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
