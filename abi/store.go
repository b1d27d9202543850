package abi

import (
	"strconv"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Scope limits a request to the sessions a caller may see (S7): the union of
// its members. The zero Scope sees nothing; a nil *Scope, every session.
type Scope struct {
	Agents    []string // agent ids, with * for any run of characters
	Keys      []string // canonical session keys
	SpawnedBy string   // children of this canonical key
}

// GetRequest asks for one session by its canonical key.
// Reply: {"session": {…} | null}.
type GetRequest struct {
	SessionKey string
}

// ResolveRequest asks for the session with a sessionId, within a scope; the
// newest if several have it. Global is as in ListRequest.
// Reply: {"session": {…} | null}.
type ResolveRequest struct {
	SessionID string
	Scope     *Scope
	MainKey   string
	Global    string
}

// ListRequest asks for sessions, newest first, then by key. Every member
// narrows; the zero value of a filter does not.
// Reply: {"rows": [{"session": {…}, "messages": [Message…]}…], "more": bool}.
type ListRequest struct {
	Scope           *Scope
	Kinds           []string // of the six kinds; empty = all
	MainKey         string   // the <rest> of main sessions; empty = "main"
	Global          string   // session.scope is "global": the agent to whom the session "global" belongs; others' main sessions are hidden
	AgentID         string
	Label           string
	Search          string // substring of key, label, displayName, subject; letters of either case
	ActiveSince     int64  // updatedAt at or after
	IncludeArchived bool
	After           *Position // continue behind this row
	Limit           int       // 1..MaxListLimit
	Messages        int       // newest messages per row that are not tool results, oldest first
	MaxBytes        int       // end the page early when the reply would be longer; at least one row is given
}

// Position is a row's place in the order of a list.
type Position struct {
	UpdatedAt int64
	Key       string
}

// HistoryRequest asks for a session's messages, newest first.
// Reply: {"messages": [Message…], "more": bool}.
type HistoryRequest struct {
	SessionKey   string
	Before       int64 // only messages with a smaller seq; 0 = from the newest
	Skip         int   // messages to pass over first, counted after ExcludeRoles
	Limit        int   // 1..MaxHistoryLimit
	ExcludeRoles []string
	MaxBytes     int // end early when the reply would be longer; at least one message is given
}

// AppendJSON appends the request's JSON.
func (r *GetRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpGet)
	o.String("sessionKey", r.SessionKey)
	return o.Close()
}

// AppendJSON appends the request's JSON.
func (r *ResolveRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpResolve)
	o.String("sessionId", r.SessionID)
	appendScope(&o, r.Scope)
	o.OptString("mainKey", r.MainKey)
	o.OptString("global", r.Global)
	return o.Close()
}

// AppendJSON appends the request's JSON.
func (r *ListRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpList)
	appendScope(&o, r.Scope)
	o.OptStrings("kinds", r.Kinds)
	o.OptString("mainKey", r.MainKey)
	o.OptString("global", r.Global)
	o.OptString("agentId", r.AgentID)
	o.OptString("label", r.Label)
	o.OptString("search", r.Search)
	o.OptInt("activeSince", r.ActiveSince)
	o.OptBool("includeArchived", r.IncludeArchived)
	if r.After != nil {
		a := jsonappend.Open(o.Key("after"))
		a.Int("updatedAt", r.After.UpdatedAt)
		a.String("key", r.After.Key)
		o.Value(a.Close())
	}
	o.Int("limit", int64(r.Limit))
	o.OptInt("messages", int64(r.Messages))
	o.OptInt("maxBytes", int64(r.MaxBytes))
	return o.Close()
}

// AppendJSON appends the request's JSON.
func (r *HistoryRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpHistory)
	o.String("sessionKey", r.SessionKey)
	o.OptInt("before", r.Before)
	o.OptInt("skip", int64(r.Skip))
	o.Int("limit", int64(r.Limit))
	o.OptStrings("excludeRoles", r.ExcludeRoles)
	o.OptInt("maxBytes", int64(r.MaxBytes))
	return o.Close()
}

func open(b []byte, op string) jsonappend.Object {
	o := jsonappend.Open(b)
	o.String("op", op)
	return o
}

func appendScope(o *jsonappend.Object, s *Scope) {
	if s == nil {
		return
	}
	so := jsonappend.Open(o.Key("scope"))
	so.OptStrings("agents", s.Agents)
	so.OptStrings("keys", s.Keys)
	so.OptString("spawnedBy", s.SpawnedBy)
	o.Value(so.Close())
}

// AppendSessionReply appends the reply of get and resolve; nil is no session.
func AppendSessionReply(b []byte, s *Session) []byte {
	b = append(b, `{"ok":{"session":`...)
	if s == nil {
		b = append(b, "null"...)
	} else {
		b = s.AppendJSON(b)
	}
	return append(b, "}}"...)
}

// ListPage is the reply of list.
type ListPage struct {
	Rows []ListRow
	More bool // rows follow behind the last one
}

// ListRow is one session of a list, with the messages asked for.
type ListRow struct {
	Session  Session
	Messages []Message // oldest first
}

// AppendReply appends the page as a host function's reply.
func (p *ListPage) AppendReply(b []byte) []byte {
	b = append(b, `{"ok":{"rows":[`...)
	for i := range p.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.Rows[i].AppendJSON(b)
	}
	b = strconv.AppendBool(append(b, `],"more":`...), p.More)
	return append(b, "}}"...)
}

// AppendJSON appends the row's JSON.
func (r *ListRow) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.Value(r.Session.AppendJSON(o.Key("session")))
	if r.Messages != nil {
		o.Value(appendMessages(o.Key("messages"), r.Messages))
	}
	return o.Close()
}

// HistoryPage is the reply of history.
type HistoryPage struct {
	Messages []Message // newest first
	More     bool      // older messages follow
}

// AppendReply appends the page as a host function's reply.
func (p *HistoryPage) AppendReply(b []byte) []byte {
	b = append(b, `{"ok":{"messages":`...)
	b = appendMessages(b, p.Messages)
	b = strconv.AppendBool(append(b, `,"more":`...), p.More)
	return append(b, "}}"...)
}

func appendMessages(b []byte, ms []Message) []byte {
	b = append(b, '[')
	for i := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = ms[i].AppendJSON(b)
	}
	return append(b, ']')
}
