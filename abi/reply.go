package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// SessionReply is the reply of get and resolve.
type SessionReply struct {
	Session *Session // nil: there is none
}

var sessionReplyMembers = jsonobject.New(
	jsonobject.Required("session", anything, func(r *SessionReply) any { return jsonobject.Maybe(&r.Session) }),
)

// ReadJSON reads the ok of a reply.
func (r *SessionReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sessionReplyMembers.Read(v, r, mode)
}

// AppendSessionReply appends the reply of get and resolve.
func AppendSessionReply(b []byte, s *Session) []byte {
	return append(sessionReplyMembers.Append(append(b, `{"ok":`...), &SessionReply{s}), '}')
}

// ListPage is the reply of list.
type ListPage struct {
	Rows []ListRow
	More bool // rows follow behind the last one
}

var listPageMembers = jsonobject.New(
	jsonobject.Required("rows", list, func(p *ListPage) any { return jsonobject.Items(&p.Rows) }),
	jsonobject.Always("more", flag, func(p *ListPage) any { return &p.More }),
)

// ReadJSON reads the page in a reply. Rows that have capacity are read into it.
func (p *ListPage) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return listPageMembers.Read(v, p, mode)
}

// AppendReply appends the page as a host function's reply.
func (p *ListPage) AppendReply(b []byte) []byte {
	return append(listPageMembers.Append(append(b, `{"ok":`...), p), '}')
}

// ListRow is one session of a list, with the messages asked for.
type ListRow struct {
	Session  Session
	Messages []Message // oldest first
}

var listRowMembers = jsonobject.New(
	jsonobject.Required("session", object, func(r *ListRow) any { return &r.Session }),
	jsonobject.Optional("messages", list, func(r *ListRow) any { return jsonobject.Items(&r.Messages) }),
)

// ReadJSON reads what AppendJSON wrote.
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

// ReadJSON reads the page in a reply. Messages that have capacity are read into it.
func (p *HistoryPage) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return historyPageMembers.Read(v, p, mode)
}

// AppendReply appends the page as a host function's reply.
func (p *HistoryPage) AppendReply(b []byte) []byte {
	return append(historyPageMembers.Append(append(b, `{"ok":`...), p), '}')
}

// StatusReply is the reply of status.
type StatusReply struct {
	Run *Run // nil: there is none
}

var statusReplyMembers = jsonobject.New(
	jsonobject.Required("run", anything, func(r *StatusReply) any { return jsonobject.Maybe(&r.Run) }),
)

// ReadJSON reads the ok of a reply.
func (r *StatusReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return statusReplyMembers.Read(v, r, mode)
}

// AppendRunReply appends the reply of status.
func AppendRunReply(b []byte, run *Run) []byte {
	return append(statusReplyMembers.Append(append(b, `{"ok":`...), &StatusReply{run}), '}')
}

// WaitsReply is the reply of waits.
type WaitsReply struct {
	Waits *bool
}

var waitsReplyMembers = jsonobject.New(
	jsonobject.Required("waits", flag, func(r *WaitsReply) any { return &r.Waits }),
)

// ReadJSON reads the ok of a reply.
func (r *WaitsReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return waitsReplyMembers.Read(v, r, mode)
}

// AppendWaitsReply appends the reply of waits.
func AppendWaitsReply(b []byte, waits bool) []byte {
	return append(waitsReplyMembers.Append(append(b, `{"ok":`...), &WaitsReply{&waits}), '}')
}

// RunReply is the reply of run.
type RunReply struct {
	RunID string
}

var runReplyMembers = jsonobject.New(
	jsonobject.Required("runId", name, func(r *RunReply) any { return &r.RunID }),
)

// ReadJSON reads the ok of a reply.
func (r *RunReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return runReplyMembers.Read(v, r, mode)
}

// AppendRunIDReply appends the reply of run.
func AppendRunIDReply(b []byte, id string) []byte {
	return append(runReplyMembers.Append(append(b, `{"ok":`...), &RunReply{id}), '}')
}

// SendReply is the reply of send.
type SendReply struct {
	DeliveryID string
}

var sendReplyMembers = jsonobject.New(
	jsonobject.Required("deliveryId", name, func(r *SendReply) any { return &r.DeliveryID }),
)

// ReadJSON reads the ok of a reply.
func (r *SendReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sendReplyMembers.Read(v, r, mode)
}

// AppendDeliveryIDReply appends the reply of send.
func AppendDeliveryIDReply(b []byte, id string) []byte {
	return append(sendReplyMembers.Append(append(b, `{"ok":`...), &SendReply{id}), '}')
}

// CreateReply is the reply of create.
type CreateReply struct {
	SessionKey string
	SessionID  string
}

var createReplyMembers = jsonobject.New(
	jsonobject.Required("sessionKey", name, func(r *CreateReply) any { return &r.SessionKey }),
	jsonobject.Required("sessionId", name, func(r *CreateReply) any { return &r.SessionID }),
)

// ReadJSON reads the ok of a reply.
func (r *CreateReply) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return createReplyMembers.Read(v, r, mode)
}

// AppendCreateReply appends the reply of create.
func AppendCreateReply(b []byte, key, sessionID string) []byte {
	r := CreateReply{SessionKey: key, SessionID: sessionID}
	return append(createReplyMembers.Append(append(b, `{"ok":`...), &r), '}')
}

// AppendDoneReply appends the reply of archive and delete.
func AppendDoneReply(b []byte) []byte { return append(b, `{"ok":{}}`...) }
