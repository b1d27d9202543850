package spawn

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/brief"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/settings"
	"github.com/parley-wasm/parley/plugin/visibility"
)

// flow is one step of a spawn: what it is given, the state that it changes, and
// what it returns.
type flow struct {
	in       *guest.Input
	client   *guest.Client
	settings *settings.Settings
	view     *visibility.View

	state
	from *abi.Session // the requester's row, once looked at; nil: not stored, or the operator
	row  *abi.Session // the child's

	out abi.StepResult
}

func open(h guest.Host, in *guest.Input) (*flow, error) {
	s, bad := settings.Parse(in.Config)
	if bad != nil {
		return nil, &guest.Fault{Err: bad}
	}
	return &flow{in: in, client: guest.NewClient(h), settings: s, view: visibility.New(s, &in.Caller)}, nil
}

func (f *flow) lookAtRequester() (err error) {
	if f.requester != "" {
		f.from, err = f.client.Get(f.requester)
	}
	return err
}

// look reads both rows, which are then as new as the step.
func (f *flow) look() (err error) {
	if err = f.lookAtRequester(); err == nil {
		f.row, err = f.client.Get(f.child)
	}
	return err
}

// gone says why there is nobody to report to, or is empty.
func (f *flow) gone() string {
	switch {
	case f.requester == "":
		return "the requester is the operator, who has no session"
	case f.from == nil:
		return "the requester session does not exist"
	case f.from.ArchivedAt > 0:
		return "the requester session is archived"
	}
	return ""
}

// wait lets the flow wait for its run, and until the child is to be archived. note
// says how the flow stands.
func (f *flow) wait(note string) {
	f.out.Wait = &abi.Wait{Run: f.run}
	if f.tidies() {
		f.out.Wait.Until = f.tidyAt
	}
	f.note(note)
}

// over ends the flow.
func (f *flow) over(how string) {
	f.out.Wait = nil
	f.note("done: " + how)
}

func (f *flow) note(text string) { f.out.Note = brief.Cut(text, abi.MaxNote) }

// result returns what the step returns. The state is written last, when nothing
// changes it any more.
func (f *flow) result() *abi.StepResult {
	if f.out.Wait != nil {
		f.out.Wait.State = f.state.appendJSON(nil)
	}
	return &f.out
}
