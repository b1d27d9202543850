package send

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/flow"
)

// handle continues the flow after an event.
func (f *sendFlow) handle(e *abi.Event) error {
	switch e.Type {
	case abi.EventCancel:
		return f.cancel()
	case abi.EventTime:
		return f.timeUp()
	}
	if err := flow.CheckRun(e, f.run); err != nil {
		return err
	}
	return f.runEnded(e.Run)
}

// timeUp answers a caller whose timeout expired. If the run has ended in the meantime, the
// answer is the outcome of the run.
func (f *sendFlow) timeUp() error {
	if f.answered {
		f.wait("")
		return nil
	}
	run, err := f.Status(f.run)
	switch {
	case err != nil:
		return err
	case guest.Ended(run):
		return f.runEnded(run)
	}
	f.wait("waiting for " + f.target + "; its caller no longer waits")
	f.answer(timeoutAnswer(run))
	return nil
}

// cancel ends the flow. The host decides whether to abort the flow's run.
func (f *sendFlow) cancel() error {
	if !f.answered {
		run, err := f.Status(f.run)
		if err != nil {
			return err
		}
		f.answer(cancelAnswer(run))
	}
	f.End("cancelled")
	return nil
}

// runEnded continues the flow after the run that it waited for.
func (f *sendFlow) runEnded(run *abi.Run) error {
	run.Reply = strings.TrimSpace(run.Reply)
	if f.phase == phaseAnnounce {
		return f.post(run)
	}
	if err := f.readParties(); err != nil {
		return err
	}
	first := f.phase == phaseFirst
	err := f.afterRun(run)
	if err == nil && first && !f.answered {
		f.answer(runAnswer(run))
	}
	return err
}

// because joins what and the text of the host's refusal. Without a refusal it returns "".
func because(what string, refusal *abi.Error) string {
	if refusal == nil {
		return ""
	}
	return what + ": " + refusal.Error()
}
