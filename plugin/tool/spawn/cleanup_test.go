package spawn

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
)

const minute = 60_000

// S5.7: a child is deleted after its announce, and its report names no transcript.
func TestDelete(t *testing.T) {
	d := drive(t, mainCaller).must(deleted).replies("done")
	if d.last.Wait.Until != 0 {
		t.Errorf("until %d", d.last.Wait.Until)
	}
	d.replies("Result: 42").wantNote("done: child deleted; announce queued").wantOver()
	d.wantSent(posted("Status: success\nResult: 42\nNotes: -\n\nStats: runtime 5s · tokens n/a · session "+child+" · id child-1", "run-2"))
	for i := range d.store.Sessions {
		if d.store.Sessions[i].Key == child {
			t.Error("the child is still there")
		}
	}
}

// A child in which a run has not ended is left alone for a minute at a time.
func TestTidyLater(t *testing.T) {
	busy := abi.NewError(abi.Conflict, "a run has not ended")
	d := drive(t, mainCaller).must(deleted).replies("done")
	d.work.Refuse[child] = busy
	d.replies("Result: 42").wantNote("child is deleted when its runs have ended; announce queued")
	for range 3 {
		from := d.now
		if d.last.Wait.Until != from+minute {
			t.Errorf("until %d, want %d", d.last.Wait.Until, from+minute)
		}
		d.time().wantNote("child is deleted when its runs have ended; announce queued")
	}
	delete(d.work.Refuse, child)
	d.time().wantNote("done: child deleted; announce queued").wantOver()

	d = drive(t, mainCaller).must(count).replies("done", "Result: 42")
	d.work.Refuse[child] = busy
	d.time().wantNote("kept 1 min; announce queued")
	delete(d.work.Refuse, child)
	d.time().wantNote("done: child archived; announce queued").wantOver()
}

// A child that is gone needs nothing more.
func TestTidyNothing(t *testing.T) {
	for _, args := range []string{count, deleted} {
		d := drive(t, mainCaller).must(args).replies("done")
		d.remove(child)
		d.replies("Result: 42")
		if d.last.Wait != nil {
			d.time()
		}
		d.wantNote("done: the child is gone; announce queued").wantOver()
	}
}

func TestNeverArchived(t *testing.T) {
	d := drive(t, mainCaller)
	d.config = `{"agents":{"defaults":{"subagents":{"archiveAfterMinutes":0}}}}`
	d.must(count).replies("done")
	if d.last.Wait.Until != 0 {
		t.Errorf("until %d", d.last.Wait.Until)
	}
	d.replies("Result: 42").wantNote("done: announce queued").wantOver()

	// Nor is one that was to be deleted, and is kept.
	d = drive(t, mainCaller)
	d.config = `{"agents":{"defaults":{"subagents":{"archiveAfterMinutes":0}}}}`
	d.must(deleted)
	d.row(main).ArchivedAt = 1
	d.replies("done").wantNote("done: stored only (the requester session is archived), and therefore kept").wantOver()
}

// A child is archived in time while its announce is queued, or its requester has
// not answered; one that is to be deleted is there until everything is said.
func TestTimeComesFirst(t *testing.T) {
	d := drive(t, mainCaller).must(toldMain).replies("done", "Result: 42").time()
	if d.row(child).ArchivedAt == 0 || d.last.Wait.Run != "run-3" || d.last.Wait.Until != 0 {
		t.Errorf("S5.7 %+v, %+v", d.row(child), d.last.Wait)
	}
	d.replies("It is 42.").wantNote("done: reported; answer queued").wantOver()

	d = drive(t, mainCaller).must(count).replies("done")
	d.work.Refuse[child] = abi.NewError(abi.Conflict, "a run has not ended")
	d.time()
	if d.last.Wait.Run != "run-2" || d.last.Wait.Until != d.now+minute {
		t.Errorf("S5.7 %+v", d.last.Wait)
	}

	d = drive(t, mainCaller).must(`{"task":"Count.","announce":"parent","cleanup":"delete"}`).replies("done", "Result: 42")
	d.now += 1000 * minute
	if d.last.Wait.Until != 0 {
		t.Errorf("S5.7 until %d", d.last.Wait.Until)
	}
	d.row(child)
	d.replies("It is 42.").wantNote("done: child deleted; reported; answer queued").wantOver()
}
