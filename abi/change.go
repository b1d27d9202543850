package abi

import (
	"math"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// CreateRequest records the effect that a child session is created, which belongs
// to the caller's session: the host makes its key, agent:<agentId>:subagent:<id>,
// and its sessionId, holds it to the sandbox when the caller is held to it, and
// creates the caller's session too if that is not stored yet.
// Reply: {"sessionKey": TEXT, "sessionId": TEXT}. Refused with Forbidden when the
// caller is a child itself, or has MaxActive children at work.
type CreateRequest struct {
	AgentID       string
	Label         string
	Model         string // that its runs are to use
	ThinkingLevel string
	MaxActive     int // children of the caller's session whose first run has not ended; 0: no bound
}

var createMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*CreateRequest) any { return operation(OpCreate) }),
	jsonobject.Required("agentId", name, func(r *CreateRequest) any { return &r.AgentID }),
	jsonobject.Optional("label", text, func(r *CreateRequest) any { return &r.Label }),
	jsonobject.Optional("model", text, func(r *CreateRequest) any { return &r.Model }),
	jsonobject.Optional("thinkingLevel", text, func(r *CreateRequest) any { return &r.ThinkingLevel }),
	jsonobject.Optional("maxActive", between(0, math.MaxInt32), func(r *CreateRequest) any { return &r.MaxActive }),
)

// ReadJSON reads what AppendJSON wrote.
func (r *CreateRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return createMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *CreateRequest) AppendJSON(b []byte) []byte { return createMembers.Append(b, r) }

// ArchiveRequest records the effect that a child session which this flow has
// created is archived: it leaves the lists, and takes no more messages. Reply: {}.
// Refused with Conflict while a run of it has not ended, and with NotFound when it
// is not stored.
type ArchiveRequest struct {
	SessionKey string
}

var archiveMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*ArchiveRequest) any { return operation(OpArchive) }),
	jsonobject.Required("sessionKey", name, func(r *ArchiveRequest) any { return &r.SessionKey }),
)

// ReadJSON reads what AppendJSON wrote.
func (r *ArchiveRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return archiveMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *ArchiveRequest) AppendJSON(b []byte) []byte { return archiveMembers.Append(b, r) }

// DeleteRequest records the effect that a child session which this flow has
// created is deleted, with its transcript. Reply and refusals are those of
// ArchiveRequest.
type DeleteRequest struct {
	SessionKey string
}

var deleteMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*DeleteRequest) any { return operation(OpDelete) }),
	jsonobject.Required("sessionKey", name, func(r *DeleteRequest) any { return &r.SessionKey }),
)

// ReadJSON reads what AppendJSON wrote.
func (r *DeleteRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return deleteMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *DeleteRequest) AppendJSON(b []byte) []byte { return deleteMembers.Append(b, r) }
