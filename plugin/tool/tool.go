// Package tool implements the plugin's exports: describe, derive, call and resume. Each
// tool is a package below plugin/internal/tool with these functions:
//
//   - Tool returns its description.
//   - Call runs the first step of a call. A tool that only reads appends its
//     result; one that writes returns a step result, which may
//     contain a wait.
//   - Resume runs a further step. Only a tool that waits has it.
//
// A tool fails in one of two ways. A mistake of the caller, or a refused permission, is
// the tool's result: {status, error}, with the error code in the step result (S0.1). A
// failure of the protocol between host and plugin is the step's error.
package tool

import (
	"errors"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/tool/agents"
	"github.com/parley-wasm/parley/plugin/internal/tool/history"
	"github.com/parley-wasm/parley/plugin/internal/tool/list"
	"github.com/parley-wasm/parley/plugin/internal/tool/send"
	"github.com/parley-wasm/parley/plugin/internal/tool/spawn"
	"github.com/parley-wasm/parley/plugin/internal/view"
	"github.com/parley-wasm/parley/plugin/rules/derive"
	"github.com/parley-wasm/parley/plugin/rules/settings"
)

// Name and versions of the plugin. StateVersion is the version of the states that it
// writes, and the only one that it reads.
const (
	Name         = "parley"
	Version      = "0.4.0"
	StateVersion = 1
)

// capabilities are the host functions that the tools use.
var capabilities = [...]string{
	abi.ImportStore + "." + abi.OpGet, abi.ImportStore + "." + abi.OpResolve, abi.ImportStore + "." + abi.OpList,
	abi.ImportStore + "." + abi.OpHistory, abi.ImportStore + "." + abi.OpCreate, abi.ImportStore + "." + abi.OpArchive,
	abi.ImportStore + "." + abi.OpDelete,
	abi.ImportAgent + "." + abi.OpStatus, abi.ImportAgent + "." + abi.OpWaits, abi.ImportAgent + "." + abi.OpRun,
	abi.ImportDeliver + "." + abi.OpSend,
}

// tools lists the tools in the order of the description.
var tools = [...]entry{
	{abi.ToolList, list.Tool, readStep(list.Call), nil},
	{abi.ToolHistory, history.Tool, readStep(history.Call), nil},
	{abi.ToolAgents, agents.Tool, readStep(agents.Call), nil},
	{abi.ToolSend, send.Tool, flowStep(abi.ToolSend, send.Call), flowStep(abi.ToolSend, send.Resume)},
	{abi.ToolSpawn, spawn.Tool, flowStep(abi.ToolSpawn, spawn.Call), flowStep(abi.ToolSpawn, spawn.Resume)},
}

type entry struct {
	name     string
	describe func() abi.Tool
	call     step
	resume   step // nil: the tool never waits
}

// step runs one step of a tool and appends the step result.
type step func(h guest.Host, in *guest.Input, dst []byte) ([]byte, error)

// readStep returns the single step of a tool that only reads; result appends the tool's
// result.
func readStep(result step) step {
	return func(h guest.Host, in *guest.Input, dst []byte) ([]byte, error) {
		b, err := result(h, in, append(dst, `{"result":`...))
		return append(b, '}'), err
	}
}

// flowStep returns a step of a tool that writes and may wait. It adds the tool's name
// to the state of a wait.
func flowStep(name string, run func(guest.Host, *guest.Input) (*abi.StepResult, error)) step {
	return func(h guest.Host, in *guest.Input, dst []byte) ([]byte, error) {
		r, err := run(h, in)
		if err != nil {
			return dst, err
		}
		if r.Wait != nil {
			r.Wait.State, r.Wait.StateVersion = wrapState(name, r.Wait.State), StateVersion
		}
		return r.AppendJSON(dst), nil
	}
}

func find(name string) *entry {
	for i := range tools {
		if tools[i].name == name {
			return &tools[i]
		}
	}
	return nil
}

// Describe returns the plugin's description, the output of describe.
func Describe() []byte {
	d := abi.Description{
		ABI:          abi.Version,
		Name:         Name,
		Version:      Version,
		StateVersion: StateVersion,
		Resumes:      [2]int{StateVersion, StateVersion},
		Capabilities: capabilities[:],
	}
	for i := range tools {
		d.Tools = append(d.Tools, tools[i].describe())
	}
	return d.AppendJSON(nil)
}

// Call runs the first step of a tool call and returns its step result. It never
// panics, whatever the input.
func Call(h guest.Host, input []byte) []byte {
	in, bad := parse(abi.ExportCall, input, guest.ParseCall)
	if bad != nil {
		return abi.AppendError(nil, bad.Code, bad.Message)
	}
	t := find(in.Tool)
	if t == nil {
		return abi.AppendError(nil, abi.NotFound, "this plugin has no tool "+render.Quote(in.Tool))
	}
	b := make([]byte, 0, 4<<10)
	err := checkAllowed(in)
	if err == nil {
		b, err = t.call(h, in, b)
	}
	if err != nil {
		return failure(b[:0], err)
	}
	return b
}

// Resume runs a further step of a flow and returns its step result. It never
// panics, whatever the input.
func Resume(h guest.Host, input []byte) []byte {
	in, bad := parse(abi.ExportResume, input, guest.ParseResume)
	if bad != nil {
		return abi.AppendError(nil, bad.Code, bad.Message)
	}
	t, inner := unwrapState(in)
	if t == nil || t.resume == nil {
		return abi.AppendError(nil, abi.Unsupported, Name+" "+Version+" cannot resume from this state of version "+strconv.Itoa(in.StateVersion)+
			": it reads states of version "+strconv.Itoa(StateVersion)+" that its own tools wrote; resume the flow with the plugin that wrote the state")
	}
	in.State = inner
	b, err := t.resume(h, in, nil)
	if err != nil {
		code, message := reason(err)
		return abi.AppendError(nil, code, message)
	}
	return b
}

// Derive returns the session context that follows from a session and the settings: the
// output of derive. It never panics, whatever the input.
func Derive(input []byte) []byte {
	q, bad := parse(abi.ExportDerive, input, guest.ParseDeriveRequest)
	var f *abi.SessionContext
	if bad == nil {
		f, bad = derive.Context(q)
	}
	if bad != nil {
		return abi.AppendError(nil, bad.Code, bad.Message)
	}
	return f.AppendResult(nil)
}

func parse[T any](export string, input []byte, read func(string) (*T, *abi.Error)) (*T, *abi.Error) {
	if err := jsonstrict.Check(input); err != nil {
		return nil, abi.NewError(abi.InvalidArgs, "the input of "+export+" is not strict JSON: "+err.Error())
	}
	return read(view.String(input))
}

// checkAllowed refuses a call by a run of a child session if the settings do not allow the
// tool to children (S5.4).
func checkAllowed(in *guest.Input) error {
	if in.Caller.RunID == "" || in.Caller.Depth == 0 {
		return nil
	}
	t, bad := settings.ChildTools(in.Config)
	if bad != nil {
		return &guest.Fault{Err: bad}
	}
	return t.Check(&in.Caller, in.Tool)
}

// failure appends the step result of a failed call.
func failure(b []byte, err error) []byte {
	code, message := reason(err)
	var e *abi.Error
	var f *guest.Fault
	if errors.As(err, &f) || !errors.As(err, &e) {
		return abi.AppendError(b, code, message)
	}
	status := "error"
	if code == abi.Forbidden {
		status = "forbidden"
	}
	o := jsonappend.Open(nil)
	o.String("status", status)
	o.String("error", message)
	return abi.AppendResult(b, o.Close(), code)
}

func reason(err error) (abi.Code, string) {
	var e *abi.Error
	if errors.As(err, &e) {
		return e.Code, e.Error()
	}
	return abi.Internal, err.Error()
}
