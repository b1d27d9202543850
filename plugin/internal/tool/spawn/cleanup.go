package spawn

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
)

// retryAfter is when a child is looked at again in which a run has not ended, in
// milliseconds.
const retryAfter = 60_000

// tidies reports whether the child is to be archived or deleted later. It is not
// deleted before there is nothing more to say.
func (f *errand) tidies() bool { return f.tidyAt != 0 && (!f.deletes || f.phase == phaseCleanup) }

// finish ends what there was to say; how is how that went. What is left is to
// archive the child, or to delete it.
func (f *errand) finish(how string) error {
	f.told = how
	f.phase, f.run = phaseCleanup, ""
	if f.deletes {
		f.tidyAt = f.In.Now
	}
	return f.tidy()
}

// tidy archives or deletes the child if it is time. While the requester is still
// answering, it goes on to wait for that.
func (f *errand) tidy() error {
	done := ""
	if f.tidies() && f.In.Now >= f.tidyAt {
		refusal, err := f.remove()
		switch {
		case err != nil:
			return err
		case refusal != nil && refusal.Code == abi.Conflict:
			f.tidyAt = f.In.Now + retryAfter
		case refusal != nil && refusal.Code == abi.NotFound:
			f.tidyAt, done = 0, "the child is gone; "
		case refusal != nil:
			f.tidyAt, done = 0, "the child stays ("+refusal.Error()+"); "
		case f.deletes:
			f.tidyAt, done = 0, "child deleted; "
		default:
			f.tidyAt, done = 0, "child archived; "
		}
	}
	switch {
	case f.run != "":
		f.wait("")
	case f.tidies():
		f.wait(f.later() + f.told)
	default:
		f.Over(done + f.told)
	}
	return nil
}

// remove archives or deletes the child.
func (f *errand) remove() (*abi.Error, error) {
	if f.deletes {
		return guest.Refusal(f.Client.Delete(&abi.DeleteRequest{SessionKey: f.child}), abi.Conflict)
	}
	return guest.Refusal(f.Client.Archive(&abi.ArchiveRequest{SessionKey: f.child}), abi.Conflict)
}

// later says what is still to be done with the child.
func (f *errand) later() string {
	if f.deletes {
		return "child is deleted when its runs have ended; "
	}
	return "kept " + strconv.FormatInt((f.tidyAt-f.In.Now+59_999)/60_000, 10) + " min; "
}
