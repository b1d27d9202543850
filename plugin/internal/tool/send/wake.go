package send

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/flow"
)

// wake goes on after an event.
func (f *exchange) wake(e *abi.Event) error {
	switch e.Type {
	case abi.EventCancel:
		return f.cancel()
	case abi.EventTime:
		return f.timeUp()
	}
	if err := flow.CheckRun(e, f.run); err != nil {
		return err
	}
	return f.ended(e.Run)
}

// timeUp answers a caller whose time is over. The run may have ended by now:
// then the answer is what became of it.
func (f *exchange) timeUp() error {
	if f.answered {
		f.wait("")
		return nil
	}
	run, err := f.Status(f.run)
	switch {
	case err != nil:
		return err
	case guest.Ended(run):
		return f.ended(run)
	}
	f.wait("waiting for " + f.target + "; its caller waits no longer")
	f.answer(timeoutAnswer(run))
	return nil
}

// cancel ends the flow. What runs is the host's to abort.
func (f *exchange) cancel() error {
	if !f.answered {
		run, err := f.Status(f.run)
		if err != nil {
			return err
		}
		f.answer(cancelAnswer(run))
	}
	f.Over("cancelled")
	return nil
}

// ended goes on after the run that was waited for.
func (f *exchange) ended(run *abi.Run) error {
	run.Reply = strings.TrimSpace(run.Reply)
	if f.phase == phaseAnnounce {
		return f.post(run)
	}
	if err := f.look(); err != nil {
		return err
	}
	first := f.phase == phaseFirst
	err := f.goOn(run)
	if err == nil && first && !f.answered {
		f.answer(runAnswer(run))
	}
	return err
}

// because joins what happened and the host's text about it; without a refusal
// nothing happened.
func because(what string, refusal *abi.Error) string {
	if refusal == nil {
		return ""
	}
	return what + ": " + refusal.Error()
}
