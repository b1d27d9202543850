package local

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
)

// Status is what an owner says of itself when it answers calls: under what it does.
type Status struct {
	Info
	Config string              `json:"config"` // the file; empty = none
	Plugin Plugin              `json:"plugin"`
	Keys   sessionkey.Settings `json:"keys"`
}

// Plugin is the module that the owner runs.
type Plugin struct {
	Digest  string `json:"digest"` // SHA-256, hexadecimal
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CallRequest asks for a tool call.
type CallRequest struct {
	Tool   string
	Args   []byte      // as in host.Call
	Caller *abi.Caller // nil: the operator
	ID     string
}

// CallMembers are the members of a CallRequest. Args that are read are a part of the
// document.
var CallMembers = jsonobject.New(
	jsonobject.Always("tool", jsonobject.Text, func(c *CallRequest) any { return &c.Tool }),
	jsonobject.Optional("args", jsonobject.Any, func(c *CallRequest) any { return &c.Args }),
	jsonobject.Optional("caller", jsonobject.Object, func(c *CallRequest) any { return jsonobject.Maybe(&c.Caller) }),
	jsonobject.Optional("callId", jsonobject.Text, func(c *CallRequest) any { return &c.ID }),
)

// AnswerMembers are the members of the answer to a CallRequest. A Result that is read is
// a part of the document.
var AnswerMembers = jsonobject.New(
	jsonobject.Always("callId", jsonobject.Text, func(a *host.Answer) any { return &a.CallID }),
	jsonobject.Optional("flowId", jsonobject.Text, func(a *host.Answer) any { return &a.FlowID }),
	jsonobject.Always("result", jsonobject.Any, func(a *host.Answer) any { return &a.Result }),
	jsonobject.Optional("code", jsonobject.Text, func(a *host.Answer) any { return (*string)(&a.Code) }),
)

// ImportRequest names OpenClaw's state directory.
type ImportRequest struct {
	Dir string // absolute
}

// ImportMembers are the members of an ImportRequest.
var ImportMembers = jsonobject.New(
	jsonobject.Always("dir", jsonobject.Text, func(r *ImportRequest) any { return &r.Dir }),
)

// ImportEvent is one line of an import's answer; one member is set.
type ImportEvent struct {
	Progress *ImportProgress `json:"progress,omitempty"`
	Report   *ImportReport   `json:"report,omitempty"`
	Error    *Failure        `json:"error,omitempty"`
}

// Failure is why an import failed.
type Failure struct {
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
}
