package spawn

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
)

const minute = 60_000

// S5.7: a child is deleted after its announce, and its report names no transcript.
func TestDelete(t *testing.T) {
	d := drive(t, mainCaller).MustCall(deleted).Replies("done")
	if d.Last.Wait.Until != 0 {
		t.Errorf("until %d", d.Last.Wait.Until)
	}
	d.Replies("Result: 42").WantNote("done: child deleted; announce queued").WantEnded()
	d.WantSent(posted("Status: success\nResult: 42\nNotes: -\n\nStats: runtime 5s · tokens n/a · session "+child+" · id child-1", "run-2"))
	for i := range d.Store.Sessions {
		if d.Store.Sessions[i].Key == child {
			t.Error("the child is still there")
		}
	}
}

// Removing a child in which a run has not ended is retried every minute.
func TestCleanupRetries(t *testing.T) {
	busy := abi.NewError(abi.Conflict, "a run has not ended")
	d := drive(t, mainCaller).MustCall(deleted).Replies("done")
	d.Work.Refuse[child] = busy
	d.Replies("Result: 42").WantNote("child is deleted when its runs have ended; announce queued")
	for range 3 {
		from := d.Now
		if d.Last.Wait.Until != from+minute {
			t.Errorf("until %d, want %d", d.Last.Wait.Until, from+minute)
		}
		d.Time().WantNote("child is deleted when its runs have ended; announce queued")
	}
	delete(d.Work.Refuse, child)
	d.Time().WantNote("done: child deleted; announce queued").WantEnded()

	d = drive(t, mainCaller).MustCall(count).Replies("done", "Result: 42")
	d.Work.Refuse[child] = busy
	d.Time().WantNote("kept 1 min; announce queued")
	delete(d.Work.Refuse, child)
	d.Time().WantNote("done: child archived; announce queued").WantEnded()
}

// A child that no longer exists needs no cleanup.
func TestCleanupOfDeletedChild(t *testing.T) {
	for _, args := range []string{count, deleted} {
		d := drive(t, mainCaller).MustCall(args).Replies("done")
		d.Remove(child)
		d.Replies("Result: 42")
		if d.Last.Wait != nil {
			d.Time()
		}
		d.WantNote("done: the child is gone; announce queued").WantEnded()
	}
}

func TestNeverArchived(t *testing.T) {
	d := drive(t, mainCaller)
	d.Config = `{"agents":{"defaults":{"subagents":{"archiveAfterMinutes":0}}}}`
	d.MustCall(count).Replies("done")
	if d.Last.Wait.Until != 0 {
		t.Errorf("until %d", d.Last.Wait.Until)
	}
	d.Replies("Result: 42").WantNote("done: announce queued").WantEnded()

	// A child that should be deleted but is kept is not archived either.
	d = drive(t, mainCaller)
	d.Config = `{"agents":{"defaults":{"subagents":{"archiveAfterMinutes":0}}}}`
	d.MustCall(deleted)
	d.Session(main).ArchivedAt = 1
	d.Replies("done").WantNote("done: stored only (the requester session is archived), and therefore kept").WantEnded()
}

// A child is archived when that is due, even if its announce is queued or its requester has not
// answered. A child that should be deleted is kept until the reporting is complete.
func TestCleanupBeforeAnswer(t *testing.T) {
	d := drive(t, mainCaller).MustCall(toParentCall).Replies("done", "Result: 42").Time()
	if d.Session(child).ArchivedAt == 0 || d.Last.Wait.Run != "run-3" || d.Last.Wait.Until != 0 {
		t.Errorf("S5.7 %+v, %+v", d.Session(child), d.Last.Wait)
	}
	d.Replies("It is 42.").WantNote("done: reported; answer queued").WantEnded()

	d = drive(t, mainCaller).MustCall(count).Replies("done")
	d.Work.Refuse[child] = abi.NewError(abi.Conflict, "a run has not ended")
	d.Time()
	if d.Last.Wait.Run != "run-2" || d.Last.Wait.Until != d.Now+minute {
		t.Errorf("S5.7 %+v", d.Last.Wait)
	}

	d = drive(t, mainCaller).MustCall(`{"task":"Count.","announce":"parent","cleanup":"delete"}`).Replies("done", "Result: 42")
	d.Now += 1000 * minute
	if d.Last.Wait.Until != 0 {
		t.Errorf("S5.7 until %d", d.Last.Wait.Until)
	}
	d.Session(child)
	d.Replies("It is 42.").WantNote("done: child deleted; reported; answer queued").WantEnded()
}
