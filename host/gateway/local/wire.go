package local

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
)

// Status describes an owner that answers calls, with its configuration and plugin.
type Status struct {
	Info
	Config string              `json:"config"` // configuration file; empty = none
	Plugin Plugin              `json:"plugin"`
	Keys   sessionkey.Settings `json:"keys"`
}

// Plugin identifies the owner's active version of the plugin.
type Plugin struct {
	Digest  string `json:"digest"` // SHA-256, hexadecimal
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CallRequest is the body of a tool call.
type CallRequest struct {
	Tool   string
	Args   []byte      // as in host.Call
	Caller *abi.Caller // nil: the operator
	ID     string
}

// CallMembers are the members of a CallRequest. After reading, Args aliases the document.
var CallMembers = jsonobject.New(
	jsonobject.Always("tool", jsonobject.Text, func(c *CallRequest) any { return &c.Tool }),
	jsonobject.Optional("args", jsonobject.Any, func(c *CallRequest) any { return &c.Args }),
	jsonobject.Optional("caller", jsonobject.Object, func(c *CallRequest) any { return jsonobject.Maybe(&c.Caller) }),
	jsonobject.Optional("callId", jsonobject.Text, func(c *CallRequest) any { return &c.ID }),
)

// AnswerMembers are the members of the answer to a CallRequest. After reading, Result
// aliases the document.
var AnswerMembers = jsonobject.New(
	jsonobject.Always("callId", jsonobject.Text, func(a *host.Answer) any { return &a.CallID }),
	jsonobject.Optional("flowId", jsonobject.Text, func(a *host.Answer) any { return &a.FlowID }),
	jsonobject.Always("result", jsonobject.Any, func(a *host.Answer) any { return &a.Result }),
	jsonobject.Optional("code", jsonobject.Text, func(a *host.Answer) any { return (*string)(&a.Code) }),
)

// ImportRequest is the body of an import request. It names OpenClaw's state directory.
type ImportRequest struct {
	Dir string // absolute
}

// ImportMembers are the members of an ImportRequest.
var ImportMembers = jsonobject.New(
	jsonobject.Always("dir", jsonobject.Text, func(r *ImportRequest) any { return &r.Dir }),
)

// ImportEvent is one line of an import's answer. Exactly one member is set.
type ImportEvent struct {
	Progress *ImportProgress `json:"progress,omitempty"`
	Report   *ImportReport   `json:"report,omitempty"`
	Error    *Failure        `json:"error,omitempty"`
}

// Failure is the error of a failed import.
type Failure struct {
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
}
