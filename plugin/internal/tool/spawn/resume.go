package spawn

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/flow"
)

// handle continues the flow after an event.
func (f *spawnFlow) handle(e *abi.Event) error {
	switch e.Type {
	case abi.EventCancel:
		f.End("cancelled while " + f.activity())
		return nil
	case abi.EventTime:
		return f.cleanUp()
	}
	if err := flow.CheckRun(e, f.run); err != nil {
		return err
	}
	e.Run.Reply = strings.TrimSpace(e.Run.Reply)
	if err := f.readSessions(); err != nil {
		return err
	}
	switch f.phase {
	case phaseChild:
		return f.childEnded(e.Run)
	case phaseAnnounce:
		return f.announceEnded(e.Run)
	}
	return f.parentEnded(e.Run)
}

// activity describes what the flow was doing when it was cancelled.
func (f *spawnFlow) activity() string {
	switch f.phase {
	case phaseChild:
		return "waiting for the child " + f.child + ", which continues"
	case phaseAnnounce:
		return "waiting for the announce of " + f.child
	case phaseParent:
		return "waiting for the requester's answer"
	}
	return "waiting to archive or delete the child (" + f.outcome + ")"
}

// childEnded starts the announce run, or finishes if the announce is skipped (S5.5).
func (f *spawnFlow) childEnded(run *abi.Run) error {
	if minutes := f.Settings.Children.ArchiveAfterMinutes; minutes > 0 {
		f.removeAt = run.EndedAt + minutes*60_000
	}
	switch why := f.unreachable(); {
	case f.announce == toNone:
		return f.stored(`announce is "none"`)
	case run.Status == abi.RunDone && run.Reply == announce.Skip:
		return f.finish("silent (" + announce.Skip + ")")
	case why != "":
		return f.stored(why)
	}
	result, err := f.resultOf(run)
	if err != nil {
		return err
	}
	id, err := f.Client.Run(&abi.RunRequest{
		SessionKey: f.child, Message: f.announceRequest(run, result), Context: f.announceContext(),
		Group: abi.GroupNested, NoTools: true, TimeoutSeconds: announce.Seconds,
	})
	refusal, err := guest.Refusal(err)
	switch {
	case err != nil:
		return err
	case refusal != nil: // treated like an announce that failed
		return f.report(f.reportOf(run, result, ""), run.ID)
	}
	f.phase, f.run = phaseAnnounce, id
	f.wait("the child " + ended(run.Status) + "; waiting for the announce of " + f.child)
	return nil
}

// announceEnded reports the answer of the announce run or, if that run failed, the result
// alone.
func (f *spawnFlow) announceEnded(run *abi.Run) error {
	answer := ""
	if run.Status == abi.RunDone {
		answer = run.Reply
	}
	if answer == announce.Skip {
		return f.finish("silent (" + announce.Skip + ")")
	}
	work, err := f.Status(f.work)
	if err != nil {
		return err
	}
	work.Reply = strings.TrimSpace(work.Reply)
	result, err := f.resultOf(work)
	if err != nil {
		return err
	}
	return f.report(f.reportOf(work, result, answer), run.ID)
}

// ended returns a phrase for the status text about how the child's run ended.
func ended(status string) string {
	if status == abi.RunDone {
		return "is done"
	}
	return guest.Outcome(status)
}
