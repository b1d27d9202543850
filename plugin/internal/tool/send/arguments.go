package send

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/args"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// Bounds of S4.1, in seconds.
const (
	defaultTimeout = 30
	maxTimeout     = 3600
)

// Values of the argument announce.
const (
	announceChannel = "channel"
	announceNone    = "none"
)

// arguments is a call's arguments. Either ref or label is set.
type arguments struct {
	ref     string // sessionKey
	label   string
	agentID string // restricts the label to the sessions of this agent
	message string
	timeout int64 // seconds
	quiet   bool  // no announce
}

func read(doc string) (arguments, error) {
	a := args.Read(doc)
	q := arguments{}
	q.ref = a.String("sessionKey")
	q.label = a.String("label")
	if id := a.String("agentId"); id != "" {
		var err error
		if q.agentID, err = sessionkey.AgentID(id); err != nil {
			a.Fail("agentId", render.Quote(id)+" "+err.Error())
		}
	}
	q.message = a.Required("message", "the text to send")
	if len(q.message) > abi.MaxText {
		a.Fail("message", "is longer than "+strconv.Itoa(abi.MaxText)+" bytes; send less, or send where the rest can be found")
	}
	q.timeout = defaultTimeout
	if seconds, given := a.AtLeast("timeoutSeconds", 0); given {
		q.timeout = min(seconds, maxTimeout)
	}
	q.quiet = a.Choice("announce", announceChannel, announceNone) == announceNone
	switch {
	case q.ref == "" && q.label == "":
		a.Fail("sessionKey", "or label is required: sessionKey is main, a session key, or a sessionId from sessions_list; label is a session's label")
	case q.ref != "" && q.label != "":
		a.Fail("sessionKey", "and label exclude each other; pass one of them")
	case q.ref != "" && q.agentID != "":
		a.Fail("agentId", "narrows a label only; leave it out with sessionKey, which names its agent")
	}
	return q, a.Done()
}
