package guest

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Input is what a step is given. Args, State and Config are JSON texts, "" when
// absent. Times are milliseconds.
type Input struct {
	FlowID       string
	Step         int64
	Now          int64
	AcceptedAt   int64      // when the call came; deadlines count from here
	Tool         string     // of call
	Args         string     // of call
	State        string     // of resume
	StateVersion int64      // of resume
	Event        *abi.Event // of resume
	Caller       abi.Caller
	Config       string
}

// ParseInput reads the input of call or resume, which has passed jsonstrict. It
// fails with abi.Unsupported for another ABI version, and with abi.InvalidArgs
// for an input that is no object, has unknown members, no proper caller or an event
// without meaning: a misspelt member must not widen what the caller may do.
func ParseInput(doc string) (*Input, *abi.Error) {
	input := gjson.Parse(doc)
	if bad := checkVersion(input); bad != nil {
		return nil, bad
	}
	if bad := check(input, theInput, inputMembers); bad != nil {
		return nil, bad
	}
	in := &Input{}
	var bad *abi.Error
	input.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "flowId":
			in.FlowID = v.Str
		case "step":
			in.Step = integer(v)
		case "now":
			in.Now = integer(v)
		case "acceptedAt":
			in.AcceptedAt = integer(v)
		case "tool":
			in.Tool = v.Str
		case "args":
			in.Args = v.Raw
		case "state":
			in.State = v.Raw
		case "stateVersion":
			in.StateVersion = integer(v)
		case "event":
			in.Event, bad = readEvent(v)
		case "caller":
			bad = readCaller(v, &in.Caller)
		case "config":
			in.Config = v.Raw
		}
		return bad == nil
	})
	if bad == nil && !in.Caller.Operator && in.Caller.SessionKey == "" {
		bad = badInput("it names no caller: caller.sessionKey or caller.operator must be set")
	}
	if bad != nil {
		return nil, bad
	}
	return in, nil
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

func readCaller(caller gjson.Result, c *abi.Caller) *abi.Error {
	if bad := check(caller, "caller", callerMembers); bad != nil {
		return bad
	}
	caller.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "sessionKey":
			c.SessionKey = v.Str
		case "agentId":
			c.AgentID = v.Str
		case "channel":
			c.Channel = v.Str
		case "to":
			c.To = v.Str
		case "accountId":
			c.AccountID = v.Str
		case "threadId":
			c.ThreadID = v.Str
		case "runId":
			c.RunID = v.Str
		case "depth":
			c.Depth = int(integer(v))
		case "hops":
			c.Hops = int(integer(v))
		case "sandboxed":
			c.Sandboxed = v.Bool()
		case "operator":
			c.Operator = v.Bool()
		}
		return true
	})
	switch agent, _, ok := sessionkey.Split(c.SessionKey); {
	case c.Operator && c.SessionKey != "":
		return badInput("caller is either a session or the operator")
	case ok && c.AgentID != "" && c.AgentID != agent:
		return badInput("caller.agentId is not the agent of caller.sessionKey")
	case sessionkey.IsChild(c.SessionKey):
		c.Depth = 1 // whatever the host says
	}
	return nil
}

func badInput(what string) *abi.Error {
	return abi.NewError(abi.InvalidArgs, "the input is malformed: "+what)
}

// CheckHops refuses a call at the end of a chain of flows that is as long as one
// may be; doing is what the call would do.
func (in *Input) CheckHops(doing string) error {
	if in.Caller.Hops < abi.MaxHops {
		return nil
	}
	return abi.NewError(abi.Forbidden, "this run is the end of a chain of "+strconv.Itoa(abi.MaxHops)+" sends and spawns, which is as long as one may be; answer without "+doing)
}
