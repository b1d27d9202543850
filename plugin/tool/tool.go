// Package tool is the plugin's entry points: what describe, call and resume
// answer. Each tool is a package below this one, with a function Tool that
// describes it and a function Call that appends its result.
//
// A tool fails in one of two ways. What the caller did wrong, or may not do, is
// its result: {status, error}, with the code beside it (S0.1). What host and
// plugin cannot agree on is the step's error.
package tool

import (
	"errors"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/quote"
	"github.com/parley-wasm/parley/plugin/tool/agents"
	"github.com/parley-wasm/parley/plugin/tool/history"
	"github.com/parley-wasm/parley/plugin/tool/list"
	"github.com/parley-wasm/parley/plugin/view"
)

// Name and versions of the plugin. StateVersion is that of the states it would
// write; no tool of this version waits.
const (
	Name         = "parley"
	Version      = "0.1.0"
	StateVersion = 1
)

// Describe returns the plugin's description, the output of describe.
func Describe() []byte {
	d := abi.Description{
		ABI:          abi.Version,
		Name:         Name,
		Version:      Version,
		StateVersion: StateVersion,
		Resumes:      [2]int{StateVersion, StateVersion},
		Tools:        []abi.Tool{list.Tool(), history.Tool(), agents.Tool()},
	}
	return d.AppendJSON(nil)
}

// Call runs the first step of a tool call and returns its step result. It never
// panics, whatever the input.
func Call(h guest.Host, input []byte) []byte {
	if err := jsonstrict.Check(input); err != nil {
		return abi.AppendError(nil, abi.InvalidArgs, "the input of call is not strict JSON: "+err.Error())
	}
	in, bad := guest.ParseInput(view.String(input))
	if bad != nil {
		return abi.AppendError(nil, bad.Code, bad.Message)
	}
	const before = `{"result":`
	b := append(make([]byte, 0, 4<<10), before...)
	var err error
	switch in.Tool {
	case abi.ToolList:
		b, err = list.Call(h, in, b)
	case abi.ToolHistory:
		b, err = history.Call(h, in, b)
	case abi.ToolAgents:
		b, err = agents.Call(h, in, b)
	default:
		return abi.AppendError(b[:0], abi.NotFound, "this plugin has no tool "+quote.Text(in.Tool))
	}
	if err == nil {
		return append(b, '}')
	}
	return failure(b[:0], err)
}

// failure returns the step result of a tool that failed.
func failure(b []byte, err error) []byte {
	var f *guest.Fault
	if errors.As(err, &f) {
		return abi.AppendError(b, f.Err.Code, f.Err.Message)
	}
	var e *abi.Error
	if !errors.As(err, &e) {
		return abi.AppendError(b, abi.Internal, err.Error())
	}
	status := "error"
	if e.Code == abi.Forbidden {
		status = "forbidden"
	}
	o := jsonappend.Open(nil)
	o.String("status", status)
	o.String("error", e.Error())
	return abi.AppendResult(b, o.Close(), e.Code)
}

// Resume runs a further step of a flow. No tool of this version waits, so there
// is no state that it could go on from.
func Resume(_ guest.Host, input []byte) []byte {
	if err := jsonstrict.Check(input); err != nil {
		return abi.AppendError(nil, abi.InvalidArgs, "the input of resume is not strict JSON: "+err.Error())
	}
	in, bad := guest.ParseInput(view.String(input))
	if bad != nil {
		return abi.AppendError(nil, bad.Code, bad.Message)
	}
	return abi.AppendError(nil, abi.Unsupported, Name+" "+Version+" cannot go on from this state of version "+
		strconv.FormatInt(in.StateVersion, 10)+": it reads states of version 1, and none of its tools waits; resume the flow with the plugin that wrote the state")
}
