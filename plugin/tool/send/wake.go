package send

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/quote"
)

// wake goes on after an event.
func (f *flow) wake(e *abi.Event) error {
	switch e.Type {
	case abi.EventCancel:
		return f.cancel()
	case abi.EventTime:
		return f.timeUp()
	}
	if e.Run.ID != f.run {
		return fault(abi.InvalidArgs, "the send waits for the run "+quote.Text(f.run)+", and was woken by the run "+quote.Text(e.Run.ID))
	}
	return f.ended(e.Run)
}

// timeUp answers a caller whose time is over. The run may have ended by now:
// then the answer is what became of it.
func (f *flow) timeUp() error {
	if f.answered {
		f.wait("")
		return nil
	}
	run, err := f.status()
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
func (f *flow) cancel() error {
	if !f.answered {
		run, err := f.status()
		if err != nil {
			return err
		}
		f.answer(cancelAnswer(run))
	}
	f.over("cancelled")
	return nil
}

// status returns the run that is waited for.
func (f *flow) status() (*abi.Run, error) {
	run, err := f.client.Status(f.run)
	if err == nil && run == nil {
		err = fault(abi.Internal, "the host does not know the run "+quote.Text(f.run)+" that this send waits for")
	}
	return run, err
}

// ended goes on after the run that was waited for.
func (f *flow) ended(run *abi.Run) error {
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
