package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// memory is a store.Loader that keeps what an import gives it, and can fail,
// count and forget.
type memory struct {
	sessions map[string]*stored
	marks    map[string]string
	loads    int
	forget   bool              // keep no message, only its size
	bytes    int64             // of messages
	onLoad   func(n int)       // before the n-th commit, counted from 1
	fail     func(n int) error // the n-th commit fails so
}

type stored struct {
	abi.Session
	Extra    string
	Messages []store.Message
	bySource map[string]int
}

var _ store.Loader = (*memory)(nil)

func newMemory() *memory {
	return &memory{sessions: map[string]*stored{}, marks: map[string]string{}}
}

func (m *memory) Snapshot(context.Context) (store.Snapshot, error) { return memoryView{m}, nil }

func (m *memory) Bookmark(_ context.Context, name string) (string, error) { return m.marks[name], nil }

func (m *memory) Load(ctx context.Context, fn func(store.Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.loads++
	if m.onLoad != nil {
		m.onLoad(m.loads)
	}
	b := &memoryBatch{m: m, marks: map[string]string{}, sessions: map[string]*stored{}}
	if err := fn(b); err != nil {
		return err
	}
	if m.fail != nil {
		if err := m.fail(m.loads); err != nil {
			return err
		}
	}
	maps.Copy(m.sessions, b.sessions)
	maps.Copy(m.marks, b.marks)
	m.bytes += b.bytes
	return nil
}

// memoryBatch works on copies, which replace the originals when it is committed.
type memoryBatch struct {
	m        *memory
	sessions map[string]*stored
	marks    map[string]string
	bytes    int64
}

func (b *memoryBatch) get(key string) *stored {
	if s, ok := b.sessions[key]; ok {
		return s
	}
	s, ok := b.m.sessions[key]
	if !ok {
		return nil
	}
	c := *s
	c.Messages, c.bySource = slices.Clone(s.Messages), maps.Clone(s.bySource)
	b.sessions[key] = &c
	return &c
}

func (b *memoryBatch) PutSession(s *abi.Session, extra []byte) (store.Change, error) {
	old := b.get(s.Key)
	if old == nil {
		b.sessions[s.Key] = &stored{Session: *s, Extra: string(extra), bySource: map[string]int{}}
		return store.Inserted, nil
	}
	if bytes.Equal(old.AppendJSON(nil), s.AppendJSON(nil)) && old.Extra == string(extra) {
		return store.Unchanged, nil
	}
	if old.SessionID != s.SessionID {
		old.Messages, old.bySource = nil, map[string]int{}
	}
	old.Session, old.Extra = *s, string(extra)
	return store.Updated, nil
}

func (b *memoryBatch) PutMessage(key string, msg *store.Message) (store.Change, error) {
	s := b.get(key)
	if s == nil {
		return 0, fmt.Errorf("no session %q", key)
	}
	b.bytes += int64(len(msg.JSON))
	c := *msg
	if c.JSON = bytes.Clone(msg.JSON); b.m.forget {
		c = store.Message{}
	}
	if i, ok := s.bySource[msg.SourceID]; ok && !b.m.forget {
		if bytes.Equal(s.Messages[i].JSON, msg.JSON) {
			return store.Unchanged, nil
		}
		s.Messages[i] = c
		return store.Updated, nil
	}
	if !b.m.forget {
		s.bySource[msg.SourceID] = len(s.Messages)
		s.Messages = append(s.Messages, c)
	}
	return store.Inserted, nil
}

func (b *memoryBatch) SetBookmark(name, value string) error {
	b.marks[name] = value
	return nil
}

// memoryView answers the one question that an importer asks.
type memoryView struct{ m *memory }

func (v memoryView) Get(_ context.Context, key string) (*abi.Session, error) {
	if s := v.m.sessions[key]; s != nil {
		return &s.Session, nil
	}
	return nil, nil
}

var errNotAsked = errors.New("an importer does not ask that")

func (v memoryView) Resolve(context.Context, *abi.ResolveRequest) (*abi.Session, error) {
	return nil, errNotAsked
}

func (v memoryView) List(context.Context, *abi.ListRequest) (*abi.ListPage, error) {
	return nil, errNotAsked
}

func (v memoryView) History(context.Context, *abi.HistoryRequest) (*abi.HistoryPage, error) {
	return nil, errNotAsked
}

func (v memoryView) Close() error { return nil }

// dump is the store as text: one line for each session, then its messages.
func (m *memory) dump(stateDir string) string {
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(m.sessions)) {
		s := m.sessions[key]
		fmt.Fprintf(&b, "%s\n  extra %s\n", s.AppendJSON(nil), s.Extra)
		for _, msg := range s.Messages {
			fmt.Fprintf(&b, "  %s %s %d %s\n", msg.SourceID, msg.Role, msg.At, clip(string(msg.JSON), 100))
		}
	}
	return strings.ReplaceAll(b.String(), stateDir, "STATE")
}
