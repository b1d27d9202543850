package guest

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// Input is the input of a step. Args, State and Config are JSON texts, "" when
// absent. Times are milliseconds.
type Input struct {
	FlowID       string
	Step         int
	Now          int64
	AcceptedAt   int64      // when the host accepted the call; deadlines count from here
	Tool         string     // of call
	Args         string     // of call
	State        string     // of resume
	StateVersion int        // of resume
	Event        *abi.Event // of resume
	Caller       abi.Caller
	Config       string
}

// ParseCall reads the input of call, which has passed jsonstrict. It fails with
// abi.Unsupported for another ABI version, and with abi.InvalidArgs for an input that is
// not an object, has unknown members or lacks a valid caller: a misspelt member must not
// widen the caller's permissions.
func ParseCall(doc string) (*Input, *abi.Error) {
	var c abi.CallInput
	if bad := parse(doc, &c); bad != nil {
		return nil, bad
	}
	in := &Input{
		FlowID: c.FlowID, Step: c.Step, Now: c.Now, AcceptedAt: c.AcceptedAt,
		Tool: c.Tool, Args: view.String(c.Args), Caller: c.Caller, Config: view.String(c.Config),
	}
	return in, checkCaller(&in.Caller)
}

// ParseResume reads the input of resume under the rules of ParseCall. It also fails for
// an unknown or incomplete event, which could otherwise end a flow that should continue.
func ParseResume(doc string) (*Input, *abi.Error) {
	var r abi.ResumeInput
	if bad := parse(doc, &r); bad != nil {
		return nil, bad
	}
	if bad := checkEvent(r.Event); bad != nil {
		return nil, bad
	}
	in := &Input{
		FlowID: r.FlowID, Step: r.Step, Now: r.Now, AcceptedAt: r.AcceptedAt,
		State: view.String(r.State), StateVersion: r.StateVersion, Event: r.Event, Caller: r.Caller, Config: view.String(r.Config),
	}
	return in, checkCaller(&in.Caller)
}

// parse reads doc into to, and fails for unknown members.
func parse(doc string, to jsonobject.Reader) *abi.Error {
	input := gjson.Parse(doc)
	if bad := checkVersion(input); bad != nil {
		return bad
	}
	if p := to.ReadJSON(input, jsonobject.Strict); p != nil {
		return badInput(describe(p))
	}
	return nil
}

// describe returns the text for a problem in an input.
func describe(p *jsonobject.Problem) string {
	what, of := "it", ""
	if p.Path != "" {
		what, of = p.Path, p.Path+"."
	}
	if p.Fault == jsonobject.Unknown {
		return what + " has an unknown member " + render.Quote(p.Name)
	}
	return of + p.Name + " must be " + p.Kind.String()
}

func checkVersion(input gjson.Result) *abi.Error {
	if !input.IsObject() {
		return badInput("it must be an object")
	}
	version := input.Get("abi").Raw
	if version == strconv.Itoa(abi.Version) {
		return nil
	}
	speaks := "another ABI version"
	if version != "" && len(version) <= 20 {
		speaks = "ABI version " + version
	}
	return abi.NewError(abi.Unsupported, "the host speaks "+speaks+"; this plugin speaks version "+strconv.Itoa(abi.Version))
}

func checkCaller(c *abi.Caller) *abi.Error {
	switch agent, _, ok := sessionkey.Split(c.SessionKey); {
	case c.SessionKey == "" && !c.Operator:
		return badInput("it names no caller: caller.sessionKey or caller.operator must be set")
	case c.Operator && c.SessionKey != "":
		return badInput("caller is either a session or the operator")
	case ok && c.AgentID != "" && c.AgentID != agent:
		return badInput("caller.agentId is not the agent of caller.sessionKey")
	case sessionkey.IsChild(c.SessionKey):
		c.Depth = 1 // overrides the host's value
	}
	return nil
}

// checkEvent refuses an event of an unknown type, or one that lacks the members of its type.
func checkEvent(e *abi.Event) *abi.Error {
	switch {
	case e == nil || e.Type == abi.EventTime || e.Type == abi.EventCancel:
	case e.Type != abi.EventRun:
		return badInput("event.type " + render.Quote(e.Type) + " must be run, time or cancel")
	case e.Run == nil:
		return badInput("event.run must be an object")
	case e.Run.ID == "" || !Ended(e.Run):
		return badInput("event.run must be a run that has ended, with its id")
	}
	return nil
}

func badInput(what string) *abi.Error {
	return abi.NewError(abi.InvalidArgs, "the input is malformed: "+what)
}

// CheckHops refuses a call if the chain of flows that led to the call has the maximal
// length (S5.6). doing names the refused action, for the error text.
func (in *Input) CheckHops(doing string) error {
	if in.Caller.Hops < abi.MaxHops {
		return nil
	}
	return abi.NewError(abi.Forbidden, "this run is the end of a chain of "+strconv.Itoa(abi.MaxHops)+" sends and spawns, the longest allowed; answer without "+doing)
}
