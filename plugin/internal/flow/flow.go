// Package flow implements the common part of one step of a tool whose flow may
// continue after the host has answered the call: the step's input, and its result.
package flow

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
	"github.com/parley-wasm/parley/plugin/rules/settings"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// Step is one step of a flow: one call of the module's export call or resume.
type Step struct {
	In       *guest.Input
	Client   *guest.Client
	Settings *settings.Settings
	View     *visibility.View
	Out      abi.StepResult
}

// Open starts the first step of a flow. It fails with a *guest.Fault.
func Open(h guest.Host, in *guest.Input) (*Step, error) {
	s, bad := settings.Parse(in.Config)
	if bad != nil {
		return nil, &guest.Fault{Err: bad}
	}
	return &Step{In: in, Client: guest.NewClient(h), Settings: s, View: visibility.New(s, &in.Caller)}, nil
}

// Reopen starts a further step of a flow. parse reads the state and reports whether it
// is valid. Reopen fails with a *guest.Fault.
func Reopen(h guest.Host, in *guest.Input, parse func(state string) bool) (*Step, error) {
	s, err := Open(h, in)
	switch {
	case err != nil:
		return nil, err
	case !parse(in.State):
		return nil, Fault(abi.Internal, "the state of this flow cannot be read")
	case in.Event == nil:
		return nil, Fault(abi.InvalidArgs, "resume needs the event that resumes the flow")
	}
	return s, nil
}

// Status returns the current state of a run that the flow has started.
func (s *Step) Status(runID string) (*abi.Run, error) {
	run, err := s.Client.Status(runID)
	if err == nil && run == nil {
		err = Fault(abi.Internal, "the host does not know the run "+render.Quote(runID)+" of this flow")
	}
	return run, err
}

// CheckRun refuses an event about a run other than the one that the flow waits for.
func CheckRun(e *abi.Event, waited string) error {
	if e.Run.ID == waited {
		return nil
	}
	return Fault(abi.InvalidArgs, "the flow waits for the run "+render.Quote(waited)+", but the event is about the run "+render.Quote(e.Run.ID))
}

// Await makes the flow wait for a run, a time, or both. note is the flow's status text; an
// empty one keeps the previous text.
func (s *Step) Await(run string, until int64, note string) {
	s.Out.Wait = &abi.Wait{Run: run, Until: until}
	s.note(note)
}

// End ends the flow with the status text "done: " + how.
func (s *Step) End(how string) {
	s.Out.Wait = nil
	s.note("done: " + how)
}

func (s *Step) note(text string) { s.Out.Note = transcript.TruncateText(text, abi.MaxNote) }

// Result returns the step result. The step must call it last: if the flow waits, Result
// calls state to append the flow's state.
func (s *Step) Result(state func([]byte) []byte) *abi.StepResult {
	if s.Out.Wait != nil {
		s.Out.Wait.State = state(nil)
	}
	return &s.Out
}

// Fault returns an error that fails the step.
func Fault(code abi.Code, message string) error {
	return &guest.Fault{Err: abi.NewError(code, message)}
}
