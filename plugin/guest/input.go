package guest

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/jsonread"
)

// Input is what a step is given. Args and Config are JSON texts, "" when absent.
type Input struct {
	Now          int64 // milliseconds
	Tool         string
	Args         string
	StateVersion int64 // of resume
	Caller       abi.Caller
	Config       string
}

// ParseInput reads the input of call or resume, which has passed jsonstrict. It
// fails with abi.Unsupported for another ABI version and with abi.InvalidArgs
// for an input that is no object or has no caller.
func ParseInput(doc string) (*Input, *abi.Error) {
	r := jsonread.New(doc)
	if r.Peek() != '{' || !r.Object() {
		return nil, abi.NewError(abi.InvalidArgs, "the input of a step must be an object")
	}
	in := &Input{}
	version := "none"
	for r.Member() {
		switch r.Name() {
		case "abi":
			version = r.Skip()
		case "now":
			in.Now = r.Int()
		case "tool":
			in.Tool = r.Text()
		case "args":
			in.Args = r.Skip()
		case "stateVersion":
			in.StateVersion = r.Int()
		case "caller":
			readCaller(&r, &in.Caller)
		case "config":
			in.Config = r.Skip()
		default:
			r.Skip()
		}
	}
	if version != strconv.Itoa(abi.Version) {
		if len(version) > 20 {
			version = "another"
		}
		return nil, abi.NewError(abi.Unsupported,
			"the host speaks ABI version "+version+"; this plugin speaks version "+strconv.Itoa(abi.Version))
	}
	if !in.Caller.Operator && in.Caller.SessionKey == "" {
		return nil, abi.NewError(abi.InvalidArgs, "the input names no caller: caller.sessionKey or caller.operator must be set")
	}
	return in, nil
}

func readCaller(r *jsonread.Reader, c *abi.Caller) {
	if !r.Object() {
		return
	}
	for r.Member() {
		switch r.Name() {
		case "sessionKey":
			c.SessionKey = r.Text()
		case "agentId":
			c.AgentID = r.Text()
		case "channel":
			c.Channel = r.Text()
		case "to":
			c.To = r.Text()
		case "accountId":
			c.AccountID = r.Text()
		case "threadId":
			c.ThreadID = r.Text()
		case "sandboxed":
			// Any value but false keeps the caller in its box.
			c.Sandboxed = r.Skip() != "false"
		case "depth":
			c.Depth = int(r.Int())
		case "hops":
			c.Hops = int(r.Int())
		case "operator":
			c.Operator = r.Bool()
		default:
			r.Skip()
		}
	}
}
