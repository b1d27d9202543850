package spawn

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/flow"
)

// errand is one step of a spawn, and the state that it changes.
type errand struct {
	*flow.Step
	state
	from *abi.Session // the requester's row, once looked at; nil: not stored, or the operator
	row  *abi.Session // the child's
}

func (f *errand) lookAtRequester() (err error) {
	if f.requester != "" {
		f.from, err = f.Client.Get(f.requester)
	}
	return err
}

// look reads both rows, which are then as new as the step.
func (f *errand) look() (err error) {
	if err = f.lookAtRequester(); err == nil {
		f.row, err = f.Client.Get(f.child)
	}
	return err
}

// gone says why there is nobody to report to, or is empty.
func (f *errand) gone() string {
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

// wait lets the flow wait for its run, and until the child is to be archived or
// deleted. note says how the flow stands.
func (f *errand) wait(note string) {
	until := int64(0)
	if f.tidies() {
		until = f.tidyAt
	}
	f.Await(f.run, until, note)
}
