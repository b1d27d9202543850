package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Scope limits a request to the sessions that a caller may see (S7): the union of its
// members. The zero Scope contains no session; a nil *Scope means every session.
type Scope struct {
	Agents    []string // agent ids; * matches any sequence of characters
	Keys      []string // canonical session keys
	SpawnedBy string   // children of this canonical key
}

var scopeMembers = jsonobject.New(
	jsonobject.Optional("agents", texts, func(s *Scope) any { return &s.Agents }),
	jsonobject.Optional("keys", texts, func(s *Scope) any { return &s.Keys }),
	jsonobject.Optional("spawnedBy", text, func(s *Scope) any { return &s.SpawnedBy }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (s *Scope) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return scopeMembers.Read(v, s, mode)
}

// AppendJSON appends the scope's JSON.
func (s *Scope) AppendJSON(b []byte) []byte { return scopeMembers.Append(b, s) }

// GetRequest asks for one session by its canonical key.
// Reply: {"session": {…} | null}.
type GetRequest struct {
	SessionKey string
}

var getMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*GetRequest) any { return operation(OpGet) }),
	jsonobject.Required("sessionKey", name, func(r *GetRequest) any { return &r.SessionKey }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *GetRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return getMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *GetRequest) AppendJSON(b []byte) []byte { return getMembers.Append(b, r) }

// ResolveRequest asks for the newest session with a sessionId within a scope. MainKey and
// Global are as in ListRequest.
// Reply: {"session": {…} | null}.
type ResolveRequest struct {
	SessionID string
	Scope     *Scope
	MainKey   string
	Global    string
}

var resolveMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*ResolveRequest) any { return operation(OpResolve) }),
	jsonobject.Required("sessionId", name, func(r *ResolveRequest) any { return &r.SessionID }),
	jsonobject.Optional("scope", object, func(r *ResolveRequest) any { return jsonobject.Maybe(&r.Scope) }),
	jsonobject.Optional("mainKey", text, func(r *ResolveRequest) any { return &r.MainKey }),
	jsonobject.Optional("global", text, func(r *ResolveRequest) any { return &r.Global }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *ResolveRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return resolveMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *ResolveRequest) AppendJSON(b []byte) []byte { return resolveMembers.Append(b, r) }

// ListRequest asks for sessions, newest first, then by key. All filters must match; the
// zero value of a filter matches every session.
// Reply: {"rows": [{"session": {…}, "messages": [Message…]}…], "more": bool}.
type ListRequest struct {
	Scope           *Scope
	Kinds           []string // of the six kinds; empty: all
	MainKey         string   // the <rest> of main sessions; empty: "main"
	Global          string   // set if session.scope is "global": agent to which the session "global" belongs; agents' own main sessions are then hidden
	AgentID         string
	Label           string
	Search          string // case-insensitive substring of key, label, displayName or subject
	ActiveSince     int64  // only sessions whose updatedAt is at or after this time
	IncludeArchived bool
	After           *Position // start after this row
	Limit           int       // 1..MaxListLimit
	Messages        int       // number of newest messages in each row, tool results excluded; the row has them oldest first
	MaxBytes        int       // maximum size of the reply; a longer page ends early, but has at least one row
}

var listMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*ListRequest) any { return operation(OpList) }),
	jsonobject.Optional("scope", object, func(r *ListRequest) any { return jsonobject.Maybe(&r.Scope) }),
	jsonobject.Optional("kinds", texts, func(r *ListRequest) any { return &r.Kinds }),
	jsonobject.Optional("mainKey", text, func(r *ListRequest) any { return &r.MainKey }),
	jsonobject.Optional("global", text, func(r *ListRequest) any { return &r.Global }),
	jsonobject.Optional("agentId", text, func(r *ListRequest) any { return &r.AgentID }),
	jsonobject.Optional("label", text, func(r *ListRequest) any { return &r.Label }),
	jsonobject.Optional("search", text, func(r *ListRequest) any { return &r.Search }),
	jsonobject.Optional("activeSince", between(0, MaxSafeInteger), func(r *ListRequest) any { return &r.ActiveSince }),
	jsonobject.Optional("includeArchived", flag, func(r *ListRequest) any { return &r.IncludeArchived }),
	jsonobject.Optional("after", object, func(r *ListRequest) any { return jsonobject.Maybe(&r.After) }),
	jsonobject.Required("limit", between(1, MaxListLimit), func(r *ListRequest) any { return &r.Limit }),
	jsonobject.Optional("messages", between(0, MaxListMessages), func(r *ListRequest) any { return &r.Messages }),
	jsonobject.Optional("maxBytes", between(1, DefaultMaxBytes), func(r *ListRequest) any { return &r.MaxBytes }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *ListRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return listMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *ListRequest) AppendJSON(b []byte) []byte { return listMembers.Append(b, r) }

// Position is the position of a row in the order of a list.
type Position struct {
	UpdatedAt int64
	Key       string
}

var positionMembers = jsonobject.New(
	jsonobject.Always("updatedAt", between(-MaxSafeInteger, MaxSafeInteger), func(p *Position) any { return &p.UpdatedAt }),
	jsonobject.Required("key", name, func(p *Position) any { return &p.Key }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (p *Position) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return positionMembers.Read(v, p, mode)
}

// AppendJSON appends the position's JSON.
func (p *Position) AppendJSON(b []byte) []byte { return positionMembers.Append(b, p) }

// HistoryRequest asks for a session's messages, newest first.
// Reply: {"messages": [Message…], "more": bool}.
type HistoryRequest struct {
	SessionKey   string
	Before       int64 // only messages with a smaller seq; 0: from the newest
	Skip         int   // messages to skip, counted after ExcludeRoles
	Limit        int   // 1..MaxHistoryLimit
	ExcludeRoles []string
	MaxBytes     int // maximum size of the reply; a longer page ends early, but has at least one message
}

var historyMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*HistoryRequest) any { return operation(OpHistory) }),
	jsonobject.Required("sessionKey", name, func(r *HistoryRequest) any { return &r.SessionKey }),
	jsonobject.Optional("before", between(0, MaxSafeInteger), func(r *HistoryRequest) any { return &r.Before }),
	jsonobject.Optional("skip", between(0, MaxSafeInteger), func(r *HistoryRequest) any { return &r.Skip }),
	jsonobject.Required("limit", between(1, MaxHistoryLimit), func(r *HistoryRequest) any { return &r.Limit }),
	jsonobject.Optional("excludeRoles", texts, func(r *HistoryRequest) any { return &r.ExcludeRoles }),
	jsonobject.Optional("maxBytes", between(1, DefaultMaxBytes), func(r *HistoryRequest) any { return &r.MaxBytes }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *HistoryRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return historyMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *HistoryRequest) AppendJSON(b []byte) []byte { return historyMembers.Append(b, r) }
