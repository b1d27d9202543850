package abi

import (
	"math"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// CreateRequest records the effect of creating a child of the caller's session. The
// host generates its key, agent:<agentId>:subagent:<id>, and its sessionId. The child
// of a sandboxed caller is sandboxed. The host also creates the caller's session if it
// is not stored yet. Reply: {"sessionKey": TEXT, "sessionId": TEXT}. The host
// refuses with Forbidden when the caller is itself a child, or has MaxActive active
// children.
type CreateRequest struct {
	AgentID       string
	Label         string
	Model         string // model for the child's runs
	ThinkingLevel string
	MaxActive     int // maximum number of the caller's children whose first run has not ended, this one included; 0: only the host's limit applies
}

var createMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*CreateRequest) any { return operation(OpCreate) }),
	jsonobject.Required("agentId", name, func(r *CreateRequest) any { return &r.AgentID }),
	jsonobject.Optional("label", text, func(r *CreateRequest) any { return &r.Label }),
	jsonobject.Optional("model", text, func(r *CreateRequest) any { return &r.Model }),
	jsonobject.Optional("thinkingLevel", text, func(r *CreateRequest) any { return &r.ThinkingLevel }),
	jsonobject.Optional("maxActive", between(0, math.MaxInt32), func(r *CreateRequest) any { return &r.MaxActive }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *CreateRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return createMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *CreateRequest) AppendJSON(b []byte) []byte { return createMembers.Append(b, r) }

// ArchiveRequest records the effect of archiving a child session that this flow
// created. An archived session is not listed and accepts no messages. Reply: {}. The
// host refuses with Conflict while a run of the session has not ended, and with
// NotFound when the session is not stored.
type ArchiveRequest struct {
	SessionKey string
}

var archiveMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*ArchiveRequest) any { return operation(OpArchive) }),
	jsonobject.Required("sessionKey", name, func(r *ArchiveRequest) any { return &r.SessionKey }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *ArchiveRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return archiveMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *ArchiveRequest) AppendJSON(b []byte) []byte { return archiveMembers.Append(b, r) }

// DeleteRequest records the effect of deleting a child session that this flow created,
// with its transcript. Its reply and refusals are the same as for ArchiveRequest.
type DeleteRequest struct {
	SessionKey string
}

var deleteMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*DeleteRequest) any { return operation(OpDelete) }),
	jsonobject.Required("sessionKey", name, func(r *DeleteRequest) any { return &r.SessionKey }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *DeleteRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return deleteMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *DeleteRequest) AppendJSON(b []byte) []byte { return deleteMembers.Append(b, r) }
