package spawn

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/args"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// Values of the argument cleanup.
const (
	cleanupKeep   = "keep"
	cleanupDelete = "delete"
)

// Values of the argument announce (S5.6).
const (
	toChannel = "channel"
	toParent  = "parent"
	toNone    = "none"
)

// arguments is a call's arguments (S5.1).
type arguments struct {
	task     string
	label    string
	agentID  string // empty: the requester's own
	model    string
	thinking string
	timeout  int // seconds; 0: none
	announce string
	deletes  bool // delete the child after its announce
}

func read(doc string) (arguments, error) {
	a := args.Read(doc)
	q := arguments{}
	q.task = a.Required("task", "what the child is to do")
	if len(q.task) > abi.MaxText {
		a.Fail("task", "is longer than "+strconv.Itoa(abi.MaxText)+" bytes; write less, or write where the rest can be found")
	}
	q.label = short(a, "label", abi.MaxLabel)
	if id := a.String("agentId"); id != "" {
		var err error
		if q.agentID, err = sessionkey.AgentID(id); err != nil {
			a.Fail("agentId", render.Quote(id)+" "+err.Error())
		}
	}
	q.model = short(a, "model", abi.MaxName)
	q.thinking = short(a, "thinking", abi.MaxName)
	if seconds, given := a.AtLeast("runTimeoutSeconds", 0); given {
		q.timeout = int(min(seconds, math.MaxInt32))
	}
	q.deletes = a.Choice("cleanup", cleanupKeep, cleanupDelete) == cleanupDelete
	q.announce = a.Choice("announce", toChannel, toParent, toNone)
	if q.announce == toNone && q.deletes {
		a.Fail("announce", `"none" and cleanup "delete" exclude each other: nobody would ever see the result`)
	}
	return q, a.Done()
}

// short reads a text of at most most characters.
func short(a *args.Args, name string, most int) string {
	s := a.String(name)
	if utf8.RuneCountInString(s) > most {
		a.Fail(name, "is longer than "+strconv.Itoa(most)+" characters; write less")
	}
	return s
}
