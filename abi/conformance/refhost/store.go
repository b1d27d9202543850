package refhost

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Store answers the reading host functions from memory, as abi/README.md defines them.
// Other implementations are compared with it. It is immutable and safe for concurrent
// use.
type Store struct {
	sessions []vector.StoredSession // in list order
}

// NewStore returns a Store with these contents; nil means an empty Store.
func NewStore(c *vector.Contents) *Store {
	s := &Store{}
	if c != nil {
		s.sessions = slices.Clone(c.Sessions)
	}
	sort.SliceStable(s.sessions, func(i, j int) bool {
		return position(&s.sessions[i].Session).before(position(&s.sessions[j].Session))
	})
	return s
}

// listPosition is the position of a session in a list: newest first, then by key.
type listPosition abi.Position

func position(s *abi.Session) listPosition {
	return listPosition{UpdatedAt: s.UpdatedAt, Key: s.Key}
}

func (p listPosition) before(q listPosition) bool {
	if p.UpdatedAt != q.UpdatedAt {
		return p.UpdatedAt > q.UpdatedAt
	}
	return p.Key < q.Key
}

// Call answers one request to a namespace of host functions (abi.ImportStore …). A
// refused request gets a reply too.
func (s *Store) Call(namespace string, doc []byte) []byte {
	reply, err := s.serve(namespace, doc)
	if err == nil {
		return reply
	}
	var e *abi.Error
	if !errors.As(err, &e) {
		e = &abi.Error{Code: abi.InvalidArgs, Message: err.Error()}
	}
	return abi.AppendError(nil, e.Code, namespace+": "+e.Message)
}

func (s *Store) serve(namespace string, doc []byte) ([]byte, error) {
	v, err := jsonvalue.Parse(doc)
	if err != nil {
		return nil, err
	}
	o, _ := v.(map[string]any)
	f := &jsonvalue.Fields{Object: o, What: "request"}
	var op string
	f.Text("op", &op)
	if f.Err != nil || op == "" {
		return nil, fmt.Errorf("the request has no op")
	}
	f.What = op
	if abi.IsWrite(namespace, op) {
		return nil, abi.NewError(abi.Forbidden, op+": a read-only tool must not write")
	}
	switch namespace + "." + op {
	case "store.get":
		return s.get(f)
	case "store.resolve":
		return s.resolve(f)
	case "store.list":
		return s.list(f)
	case "store.history":
		return s.history(f)
	case "agent.status":
		var id string
		f.Text("runId", &id)
		return abi.AppendReply(nil, &abi.StatusReply{}), f.Done()
	}
	return nil, abi.NewError(abi.Unsupported, "unknown operation "+op)
}

func (s *Store) find(key string) *vector.StoredSession {
	for i := range s.sessions {
		if s.sessions[i].Session.Key == key {
			return &s.sessions[i]
		}
	}
	return nil
}

func (s *Store) get(f *jsonvalue.Fields) ([]byte, error) {
	var key string
	f.Required("sessionKey", &key)
	if err := f.Done(); err != nil {
		return nil, err
	}
	if stored := s.find(key); stored != nil {
		return abi.AppendReply(nil, &abi.SessionReply{Session: &stored.Session}), nil
	}
	return abi.AppendReply(nil, &abi.SessionReply{}), nil
}

func (s *Store) resolve(f *jsonvalue.Fields) ([]byte, error) {
	var id string
	f.Required("sessionId", &id)
	w := readView(f)
	if err := f.Done(); err != nil {
		return nil, err
	}
	for i := range s.sessions { // newest first
		if session := &s.sessions[i].Session; session.SessionID == id && w.includes(session) {
			return abi.AppendReply(nil, &abi.SessionReply{Session: session}), nil
		}
	}
	return abi.AppendReply(nil, &abi.SessionReply{}), nil
}

// view selects the sessions that a request can reach: those within its scope, under the
// settings that define "global" and "main".
type view struct {
	scope    *abi.Scope
	settings sessionkey.Settings
	global   string // the agent whose main session is "global"; empty: no agent
}

func readView(f *jsonvalue.Fields) view {
	var w view
	f.Text("mainKey", &w.settings.MainKey)
	f.Text("global", &w.global)
	w.settings.GlobalScope = w.global != ""
	f.Nested("scope", func(n *jsonvalue.Fields) {
		w.scope = &abi.Scope{}
		n.Texts("agents", &w.scope.Agents)
		n.Texts("keys", &w.scope.Keys)
		n.Text("spawnedBy", &w.scope.SpawnedBy)
	})
	return w
}

// agent returns the agent of a session: "global" belongs to the requesting agent.
func (w view) agent(s *abi.Session) string {
	if s.Key == sessionkey.Global {
		return w.global
	}
	return s.AgentID
}

func (w view) includes(s *abi.Session) bool {
	switch {
	case w.settings.Hidden(s.Key):
		return false
	case w.scope == nil,
		slices.Contains(w.scope.Keys, s.Key),
		w.scope.SpawnedBy != "" && w.scope.SpawnedBy == s.SpawnedBy:
		return true
	}
	return slices.ContainsFunc(w.scope.Agents, func(pattern string) bool {
		return wildcard(pattern, w.agent(s))
	})
}

// wildcard reports whether text matches a pattern, in which * stands for any number of
// characters.
func wildcard(pattern, text string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	for i := 0; ok && i <= len(text); i++ {
		if wildcard(tail, text[i:]) {
			return true
		}
	}
	return false
}
