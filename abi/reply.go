package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// AppendReply appends {"ok": reply}, a host function's answer to a request that it
// accepts. AppendError appends a refusal.
func AppendReply(b []byte, reply jsonobject.Value) []byte {
	return append(reply.AppendJSON(append(b, `{"ok":`...)), '}')
}

// SessionReply is the reply of get and resolve.
type SessionReply struct {
	Session *Session // nil: no such session
}

var sessionReplyMembers = jsonobject.New(
	jsonobject.Required("session", anything, func(r *SessionReply) any { return jsonobject.Maybe(&r.Session) }),
)

// ReadJSON reads the member "ok" of a reply.
func (r *SessionReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sessionReplyMembers.Read(v, r, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (r *SessionReply) AppendJSON(b []byte) []byte { return sessionReplyMembers.Append(b, r) }

// ListPage is the reply of list.
type ListPage struct {
	Rows []ListRow
	More bool // more rows follow the last one
}

var listPageMembers = jsonobject.New(
	jsonobject.Required("rows", list, func(p *ListPage) any { return jsonobject.Items(&p.Rows) }),
	jsonobject.Always("more", flag, func(p *ListPage) any { return &p.More }),
)

// ReadJSON reads the member "ok" of a reply. It reuses the capacity of Rows.
func (p *ListPage) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return listPageMembers.Read(v, p, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (p *ListPage) AppendJSON(b []byte) []byte { return listPageMembers.Append(b, p) }

// ListRow is one session of a list, with the requested messages.
type ListRow struct {
	Session  Session
	Messages []Message // oldest first
}

var listRowMembers = jsonobject.New(
	jsonobject.Required("session", object, func(r *ListRow) any { return &r.Session }),
	jsonobject.Optional("messages", list, func(r *ListRow) any { return jsonobject.Items(&r.Messages) }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *ListRow) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return listRowMembers.Read(v, r, mode)
}

// AppendJSON appends the row's JSON.
func (r *ListRow) AppendJSON(b []byte) []byte { return listRowMembers.Append(b, r) }

// HistoryPage is the reply of history.
type HistoryPage struct {
	Messages []Message // newest first
	More     bool      // older messages follow
}

var historyPageMembers = jsonobject.New(
	jsonobject.Required("messages", list, func(p *HistoryPage) any { return jsonobject.Items(&p.Messages) }),
	jsonobject.Always("more", flag, func(p *HistoryPage) any { return &p.More }),
)

// ReadJSON reads the member "ok" of a reply. It reuses the capacity of Messages.
func (p *HistoryPage) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return historyPageMembers.Read(v, p, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (p *HistoryPage) AppendJSON(b []byte) []byte { return historyPageMembers.Append(b, p) }

// StatusReply is the reply of status.
type StatusReply struct {
	Run *Run // nil: no such run
}

var statusReplyMembers = jsonobject.New(
	jsonobject.Required("run", anything, func(r *StatusReply) any { return jsonobject.Maybe(&r.Run) }),
)

// ReadJSON reads the member "ok" of a reply.
func (r *StatusReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return statusReplyMembers.Read(v, r, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (r *StatusReply) AppendJSON(b []byte) []byte { return statusReplyMembers.Append(b, r) }

// WaitsReply is the reply of waits.
type WaitsReply struct {
	Waits *bool
}

var waitsReplyMembers = jsonobject.New(
	jsonobject.Required("waits", flag, func(r *WaitsReply) any { return &r.Waits }),
)

// ReadJSON reads the member "ok" of a reply.
func (r *WaitsReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return waitsReplyMembers.Read(v, r, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (r *WaitsReply) AppendJSON(b []byte) []byte { return waitsReplyMembers.Append(b, r) }

// RunReply is the reply of run.
type RunReply struct {
	RunID string
}

var runReplyMembers = jsonobject.New(
	jsonobject.Required("runId", name, func(r *RunReply) any { return &r.RunID }),
)

// ReadJSON reads the member "ok" of a reply.
func (r *RunReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return runReplyMembers.Read(v, r, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (r *RunReply) AppendJSON(b []byte) []byte { return runReplyMembers.Append(b, r) }

// SendReply is the reply of send.
type SendReply struct {
	DeliveryID string
}

var sendReplyMembers = jsonobject.New(
	jsonobject.Required("deliveryId", name, func(r *SendReply) any { return &r.DeliveryID }),
)

// ReadJSON reads the member "ok" of a reply.
func (r *SendReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sendReplyMembers.Read(v, r, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (r *SendReply) AppendJSON(b []byte) []byte { return sendReplyMembers.Append(b, r) }

// CreateReply is the reply of create.
type CreateReply struct {
	SessionKey string
	SessionID  string
}

var createReplyMembers = jsonobject.New(
	jsonobject.Required("sessionKey", name, func(r *CreateReply) any { return &r.SessionKey }),
	jsonobject.Required("sessionId", name, func(r *CreateReply) any { return &r.SessionID }),
)

// ReadJSON reads the member "ok" of a reply.
func (r *CreateReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return createReplyMembers.Read(v, r, mode)
}

// AppendJSON appends the member "ok" of a reply.
func (r *CreateReply) AppendJSON(b []byte) []byte { return createReplyMembers.Append(b, r) }

// AppendDoneReply appends the reply of archive and delete.
func AppendDoneReply(b []byte) []byte { return append(b, `{"ok":{}}`...) }
