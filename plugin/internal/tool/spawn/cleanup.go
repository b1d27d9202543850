package spawn

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
)

// retryAfter is the delay before the next attempt to remove a child in which a run has not
// ended, in milliseconds.
const retryAfter = 60_000

// removalPending reports whether the child must be archived or deleted at removeAt. The
// flow deletes the child only after it has reported the result.
func (f *spawnFlow) removalPending() bool {
	return f.removeAt != 0 && (!f.deletes || f.phase == phaseCleanup)
}

// finish ends the reporting with the given outcome. It continues with archiving or
// deleting the child.
func (f *spawnFlow) finish(outcome string) error {
	f.outcome = outcome
	f.phase, f.run = phaseCleanup, ""
	if f.deletes {
		f.removeAt = f.In.Now
	}
	return f.cleanUp()
}

// cleanUp archives or deletes the child if removeAt has come. If the flow waits for a run, it
// continues to wait.
func (f *spawnFlow) cleanUp() error {
	done := ""
	if f.removalPending() && f.In.Now >= f.removeAt {
		refusal, err := f.remove()
		switch {
		case err != nil:
			return err
		case refusal != nil && refusal.Code == abi.Conflict:
			f.removeAt = f.In.Now + retryAfter
		case refusal != nil && refusal.Code == abi.NotFound:
			f.removeAt, done = 0, "the child is gone; "
		case refusal != nil:
			f.removeAt, done = 0, "the child stays ("+refusal.Error()+"); "
		case f.deletes:
			f.removeAt, done = 0, "child deleted; "
		default:
			f.removeAt, done = 0, "child archived; "
		}
	}
	switch {
	case f.run != "":
		f.wait("")
	case f.removalPending():
		f.wait(f.removalNote() + f.outcome)
	default:
		f.End(done + f.outcome)
	}
	return nil
}

// remove archives the child, or deletes it if deletes is set.
func (f *spawnFlow) remove() (*abi.Error, error) {
	if f.deletes {
		return guest.Refusal(f.Client.Delete(&abi.DeleteRequest{SessionKey: f.child}), abi.Conflict)
	}
	return guest.Refusal(f.Client.Archive(&abi.ArchiveRequest{SessionKey: f.child}), abi.Conflict)
}

// removalNote returns the part of the status text about the pending removal.
func (f *spawnFlow) removalNote() string {
	if f.deletes {
		return "child is deleted when its runs have ended; "
	}
	return "kept " + strconv.FormatInt((f.removeAt-f.In.Now+59_999)/60_000, 10) + " min; "
}
