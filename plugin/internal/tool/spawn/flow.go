package spawn

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/flow"
)

// spawnFlow is the flow of a spawn during one step: the step, and the state that it
// changes.
type spawnFlow struct {
	*flow.Step
	state
	from *abi.Session // the requester's row, once read; nil: not stored, or the operator
	row  *abi.Session // the child's row, once read; nil: not stored
}

func (f *spawnFlow) readRequester() (err error) {
	if f.requester != "" {
		f.from, err = f.Client.Get(f.requester)
	}
	return err
}

// readSessions reads the current rows of requester and child.
func (f *spawnFlow) readSessions() (err error) {
	if err = f.readRequester(); err == nil {
		f.row, err = f.Client.Get(f.child)
	}
	return err
}

// unreachable returns why the result cannot be reported to the requester, or "".
func (f *spawnFlow) unreachable() string {
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

// wait makes the flow wait for its run, and until the child must be archived or deleted.
// note is the flow's status text.
func (f *spawnFlow) wait(note string) {
	until := int64(0)
	if f.removalPending() {
		until = f.removeAt
	}
	f.Await(f.run, until, note)
}
