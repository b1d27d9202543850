package guesttest

import (
	"encoding/json"
	"path"
	"slices"
	"sort"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Store is a host that keeps sessions in memory. It implements scopes, positions,
// limits, maxBytes and these list filters: kinds, agentId, label, includeArchived and
// activeSince. The tests of the tools need no others; the real store's tests cover them.
type Store struct {
	Sessions []abi.Session
	// Messages are the transcripts by session key, oldest message first. A Seq of 0
	// is replaced by the message's position, from 1.
	Messages map[string][]abi.Message
	// Calls counts the store requests by operation.
	Calls map[string]int
	// Work answers requests to the namespaces agent and deliver, and writes to the store.
	// If Work is nil, such requests fail as unsupported.
	Work *Work
}

type request struct {
	Op              string
	SessionKey      string
	SessionID       string `json:"sessionId"`
	Scope           *scope
	Kinds           []string
	MainKey         string
	Global          string
	AgentID         string `json:"agentId"`
	Label           string
	ActiveSince     int64
	IncludeArchived bool
	After           *abi.Position
	Limit           int
	Messages        int
	MaxBytes        int
	Before          int64
	Skip            int
	ExcludeRoles    []string
}

type scope struct {
	Agents    []string
	Keys      []string
	SpawnedBy string
}

// Call implements guest.Host.
func (s *Store) Call(namespace string, raw []byte) []byte {
	if s.Work != nil {
		if reply, done := s.Work.call(s, namespace, raw); done {
			return reply
		}
	}
	var r request
	if err := json.Unmarshal(raw, &r); err != nil || namespace != abi.ImportStore {
		return abi.AppendError(nil, abi.Unsupported, "unknown namespace or malformed JSON")
	}
	if s.Calls == nil {
		s.Calls = map[string]int{}
	}
	s.Calls[r.Op]++
	switch r.Op {
	case abi.OpGet:
		for i := range s.Sessions {
			if s.Sessions[i].Key == r.SessionKey {
				return abi.AppendReply(nil, &abi.SessionReply{Session: &s.Sessions[i]})
			}
		}
		return abi.AppendReply(nil, &abi.SessionReply{})
	case abi.OpResolve:
		for _, row := range s.sorted() {
			if row.SessionID == r.SessionID && r.sees(row) {
				return abi.AppendReply(nil, &abi.SessionReply{Session: row})
			}
		}
		return abi.AppendReply(nil, &abi.SessionReply{})
	case abi.OpList:
		return s.list(&r)
	case abi.OpHistory:
		return s.history(&r)
	}
	return abi.AppendError(nil, abi.Unsupported, "no such operation")
}

func (s *Store) sorted() []*abi.Session {
	rows := make([]*abi.Session, len(s.Sessions))
	for i := range s.Sessions {
		rows[i] = &s.Sessions[i]
	}
	sort.Slice(rows, func(i, j int) bool { return before(rows[i], rows[j].UpdatedAt, rows[j].Key) })
	return rows
}

func before(a *abi.Session, at int64, key string) bool {
	return a.UpdatedAt > at || a.UpdatedAt == at && a.Key < key
}

func (r *request) agent(row *abi.Session) string {
	if row.Key == sessionkey.Global {
		return r.Global
	}
	id, _, _ := sessionkey.Split(row.Key)
	return id
}

func (r *request) sees(row *abi.Session) bool {
	if r.Scope == nil || slices.Contains(r.Scope.Keys, row.Key) || r.Scope.SpawnedBy != "" && r.Scope.SpawnedBy == row.SpawnedBy {
		return true
	}
	for _, p := range r.Scope.Agents {
		if ok, _ := path.Match(p, r.agent(row)); ok {
			return true
		}
	}
	return false
}

func (r *request) matches(row *abi.Session) bool {
	keys := sessionkey.Settings{MainKey: r.MainKey, GlobalScope: r.Global != ""}
	return r.sees(row) && !keys.Hidden(row.Key) &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, keys.KindOf(row.Key))) &&
		(r.AgentID == "" || r.AgentID == r.agent(row)) &&
		(r.Label == "" || r.Label == row.Label) &&
		row.UpdatedAt >= r.ActiveSince &&
		(r.IncludeArchived || row.ArchivedAt == 0) &&
		(r.After == nil || !before(row, r.After.UpdatedAt, r.After.Key) && row.Key != r.After.Key)
}

func (s *Store) list(r *request) []byte {
	var page abi.ListPage
	size := 0
	for _, row := range s.sorted() {
		if !r.matches(row) {
			continue
		}
		out := abi.ListRow{Session: *row}
		if r.Messages > 0 {
			found, _ := s.newest(&request{SessionKey: row.Key, Limit: r.Messages, ExcludeRoles: []string{"toolResult", "tool"}})
			slices.Reverse(found)
			out.Messages = append([]abi.Message{}, found...)
		}
		size += len(out.AppendJSON(nil))
		if len(page.Rows) == r.Limit || len(page.Rows) > 0 && r.MaxBytes > 0 && size > r.MaxBytes {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, out)
	}
	return abi.AppendReply(nil, &page)
}

func (s *Store) history(r *request) []byte {
	var page abi.HistoryPage
	page.Messages, page.More = s.newest(r)
	return abi.AppendReply(nil, &page)
}

// newest returns the messages that a history request selects, newest first.
func (s *Store) newest(r *request) (found []abi.Message, more bool) {
	all, size, skip := s.Messages[r.SessionKey], 0, r.Skip
	for i := len(all) - 1; i >= 0; i-- {
		m := all[i]
		if m.Seq == 0 {
			m.Seq = int64(i + 1)
		}
		var head struct{ Role any }
		_ = json.Unmarshal(m.JSON, &head)
		role, _ := head.Role.(string)
		if r.Before > 0 && m.Seq >= r.Before || slices.Contains(r.ExcludeRoles, role) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		size += len(m.AppendJSON(nil))
		if len(found) == r.Limit || len(found) > 0 && r.MaxBytes > 0 && size > r.MaxBytes {
			return found, true
		}
		found = append(found, m)
	}
	return found, false
}
