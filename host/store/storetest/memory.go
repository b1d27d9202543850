package storetest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/store"
)

// Memory is a simple store in memory that checks every session for every request. The
// suite compares other stores with it. It also serves tests that need any store. It is
// safe for concurrent use. The zero value is not usable; call NewMemory.
type Memory struct {
	load  sync.Mutex // held during a Load
	mu    sync.Mutex
	state *state
}

var _ store.Loader = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{state: &state{sessions: map[string]session{}, transcripts: map[[2]string][]entry{}, bookmarks: map[string]string{}}}
}

// state is the content of a store. The current state is never changed, only replaced.
type state struct {
	sessions    map[string]session
	transcripts map[[2]string][]entry // by key and sessionId
	bookmarks   map[string]string
}

type session struct {
	abi.Session
	extra []byte
}

type entry struct {
	store.Message
	seq int64
}

func (m *Memory) current() *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Snapshot returns the current state.
func (m *Memory) Snapshot(ctx context.Context) (store.Snapshot, error) {
	return &memoryView{m.current()}, ctx.Err()
}

// Bookmark returns a bookmark.
func (m *Memory) Bookmark(ctx context.Context, name string) (string, error) {
	return m.current().bookmarks[name], ctx.Err()
}

// Load runs fn on a copy of the state, which becomes current if fn succeeds.
func (m *Memory) Load(ctx context.Context, fn func(store.Batch) error) error {
	m.load.Lock()
	defer m.load.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	old := m.current()
	b := &memoryBatch{ctx: ctx, state: &state{maps.Clone(old.sessions), maps.Clone(old.transcripts), maps.Clone(old.bookmarks)}}
	defer func() { b.ended = true }()
	if err := errors.Join(fn(b), ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = b.state
	return nil
}

type memoryBatch struct {
	ctx   context.Context
	state *state
	ended bool
}

func (b *memoryBatch) usable() error {
	if b.ended {
		return errors.New("the batch was used after its Load had ended")
	}
	return b.ctx.Err()
}

func (b *memoryBatch) SetBookmark(name, value string) error {
	b.state.bookmarks[name] = value
	return b.usable()
}

func (b *memoryBatch) PutSession(s *abi.Session, extra []byte) (store.Change, error) {
	if err := b.usable(); err != nil {
		return store.Unchanged, err
	}
	n := session{*s, bytes.Clone(extra)}
	agentID, _, ok := sessionkey.Split(s.Key)
	if !ok && s.Key != sessionkey.Global && s.Key != sessionkey.Unknown {
		return store.Unchanged, abi.NewError(abi.InvalidArgs, "not a canonical key: "+s.Key)
	}
	if n.AgentID == "" {
		n.AgentID = agentID
	}
	if n.Kind == "" {
		n.Kind = sessionkey.Kind(n.Key)
	}
	if ok && n.AgentID != agentID || n.Kind != sessionkey.Kind(n.Key) {
		return store.Unchanged, abi.NewError(abi.InvalidArgs, "agent or kind contradict the key "+s.Key)
	}
	old, known := b.state.sessions[s.Key]
	b.state.sessions[s.Key] = n
	switch {
	case !known:
		return store.Inserted, nil
	case bytes.Equal(old.AppendJSON(nil), n.AppendJSON(nil)) && bytes.Equal(old.extra, n.extra):
		return store.Unchanged, nil
	}
	return store.Updated, nil
}

func (b *memoryBatch) PutMessage(key string, m *store.Message) (store.Change, error) {
	if err := b.usable(); err != nil {
		return store.Unchanged, err
	}
	s, known := b.state.sessions[key]
	if !known {
		return store.Unchanged, abi.NewError(abi.NotFound, "no such session: "+key)
	}
	if len(m.JSON) == 0 {
		return store.Unchanged, abi.NewError(abi.InvalidArgs, "no JSON")
	}
	n := *m
	n.JSON = bytes.Clone(m.JSON)
	id := [2]string{key, s.SessionID}
	all := slices.Clone(b.state.transcripts[id])
	i := slices.IndexFunc(all, func(e entry) bool { return m.SourceID != "" && e.SourceID == m.SourceID })
	change := store.Updated
	switch {
	case i < 0:
		change = store.Inserted
		all = append(all, entry{n, int64(len(all)) + 1})
	case all[i].Role == n.Role && all[i].At == n.At && all[i].RunID == n.RunID && bytes.Equal(all[i].JSON, n.JSON):
		change = store.Unchanged
	default:
		all[i].Message = n
	}
	b.state.transcripts[id] = all
	return change, nil
}

type memoryView struct{ *state }

func (v *memoryView) Close() error { return nil }

func (v *memoryView) Get(ctx context.Context, key string) (*abi.Session, error) {
	s, known := v.sessions[key]
	if !known {
		return nil, ctx.Err()
	}
	return &s.Session, ctx.Err()
}

func (v *memoryView) Resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error) {
	all := v.rows(&abi.ListRequest{Scope: r.Scope, MainKey: r.MainKey, Global: r.Global, IncludeArchived: true})
	for _, row := range all {
		if r.SessionID != "" && row.Session.SessionID == r.SessionID {
			return &row.Session, ctx.Err()
		}
	}
	return nil, ctx.Err()
}

func (v *memoryView) List(ctx context.Context, r *abi.ListRequest) (*abi.ListPage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := v.rows(r)
	full := &abi.ListPage{}
	for i := range all {
		if r.Messages > 0 {
			s := &all[i].Session
			recent := v.messages(s.Key, s.SessionID, store.ToolResultRoles)
			all[i].Messages = append([]abi.Message{}, recent[:min(len(recent), r.Messages)]...)
			slices.Reverse(all[i].Messages)
		}
		full.Rows = all[:i+1]
		full.More = i+1 < len(all)
		tooLong := len(abi.AppendReply(nil, full)) > maxBytes(r.MaxBytes)
		if i > 0 && tooLong {
			return &abi.ListPage{Rows: all[:i], More: true}, nil
		}
		if i+1 == r.Limit {
			break
		}
	}
	return full, nil
}

// rows returns all sessions that match the request's filters, in list order, after
// After.
func (v *memoryView) rows(r *abi.ListRequest) []abi.ListRow {
	var all []abi.ListRow
	for _, s := range v.sessions {
		after := r.After == nil || order(r.After.UpdatedAt, r.After.Key, s.UpdatedAt, s.Key) < 0
		if after && matchesFilter(r, &s.Session) {
			all = append(all, abi.ListRow{Session: s.Session})
		}
	}
	slices.SortFunc(all, func(a, b abi.ListRow) int {
		return order(a.Session.UpdatedAt, a.Session.Key, b.Session.UpdatedAt, b.Session.Key)
	})
	return all
}

// order compares two positions in list order: newest first, then by key.
func order(at1 int64, key1 string, at2 int64, key2 string) int {
	if at1 != at2 {
		return int(at2 - at1)
	}
	return strings.Compare(key1, key2)
}

func (v *memoryView) History(ctx context.Context, r *abi.HistoryRequest) (*abi.HistoryPage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := v.messages(r.SessionKey, v.sessions[r.SessionKey].SessionID, r.ExcludeRoles)
	all = slices.DeleteFunc(all, func(m abi.Message) bool { return r.Before > 0 && m.Seq >= r.Before })
	all = all[min(len(all), r.Skip):]
	page := &abi.HistoryPage{}
	for i := range all {
		next := &abi.HistoryPage{Messages: all[:i+1], More: i+1 < len(all)}
		if i == r.Limit || i > 0 && len(abi.AppendReply(nil, next)) > maxBytes(r.MaxBytes) {
			return page, nil
		}
		page = next
	}
	return page, nil
}

// messages returns the messages of a transcript as in histories, newest first.
func (v *memoryView) messages(key, sessionID string, exclude []string) []abi.Message {
	var all []abi.Message
	for _, e := range slices.Backward(v.transcripts[[2]string{key, sessionID}]) {
		if slices.Contains(exclude, e.Role) {
			continue
		}
		m := abi.Message{Seq: e.seq}
		m.JSON, m.Truncations = message.Shorten(e.JSON)
		all = append(all, m)
	}
	return all
}

func maxBytes(n int) int {
	if n <= 0 {
		return abi.DefaultMaxBytes
	}
	return n
}
