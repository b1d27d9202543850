package abi

import "github.com/parley-wasm/parley/abi/jsonappend"

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

// AppendJSON appends the request's JSON.
func (r *CreateRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpCreate)
	o.String("agentId", r.AgentID)
	o.OptString("label", r.Label)
	o.OptString("model", r.Model)
	o.OptString("thinkingLevel", r.ThinkingLevel)
	o.OptInt("maxActive", int64(r.MaxActive))
	return o.Close()
}

// AppendCreateReply appends the reply of create.
func AppendCreateReply(b []byte, key, sessionID string) []byte {
	b = jsonappend.String(append(b, `{"ok":{"sessionKey":`...), key)
	b = jsonappend.String(append(b, `,"sessionId":`...), sessionID)
	return append(b, "}}"...)
}

// ArchiveRequest records the effect that a child session which this flow has
// created is archived: it leaves the lists, and takes no more messages. Reply: {}.
// Refused with Conflict while a run of it has not ended, and with NotFound when it
// is not stored.
type ArchiveRequest struct {
	SessionKey string
}

// AppendJSON appends the request's JSON.
func (r *ArchiveRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpArchive)
	o.String("sessionKey", r.SessionKey)
	return o.Close()
}

// DeleteRequest records the effect that a child session which this flow has
// created is deleted, with its transcript. Reply and refusals are those of
// ArchiveRequest.
type DeleteRequest struct {
	SessionKey string
}

// AppendJSON appends the request's JSON.
func (r *DeleteRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpDelete)
	o.String("sessionKey", r.SessionKey)
	return o.Close()
}

// AppendDoneReply appends the reply of archive and delete.
func AppendDoneReply(b []byte) []byte { return append(b, `{"ok":{}}`...) }
