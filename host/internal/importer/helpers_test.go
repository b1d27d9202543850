package importer

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const demo = "../../../testdata/openclaw"

func golden(t *testing.T, name string, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if the change is intended, run go test -update (-want +got):\n%s", file, diff)
	}
}

func mustImport(t *testing.T, dir string, into *memory) *Report {
	t.Helper()
	r, err := Import(context.Background(), dir, into, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// files is a state directory: the content of each file by path. A path ending in / is
// an empty directory; the content "-> x" is a symbolic link to x.
type files map[string]string

const mainStore = "agents/main/sessions/sessions.json"

// build writes a state directory whose files have a fixed modification time.
func build(t testing.TB, f files) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		write(t, dir, name, text)
	}
	return dir
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(file), 0o777)
	switch target, link := strings.CutPrefix(text, "-> "); {
	case err != nil:
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(file, 0o777)
	case link:
		err = os.Symlink(target, file)
	default:
		if err = os.WriteFile(file, []byte(text), 0o666); err == nil {
			at := time.UnixMilli(1770714000000)
			err = os.Chtimes(file, at, at)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func header(id string) string {
	return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-02-10T09:00:00.000Z","cwd":"/"}` + "\n"
}

func messageLine(id, role, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":"2026-02-10T09:00:01.500Z","message":{"role":%q,"content":%q}}`, id, role, text) + "\n"
}

// oneSession is a state directory with one session whose transcript has these lines
// after its header.
func oneSession(lines ...string) files {
	return files{
		mainStore:                       `{"main":{"sessionId":"s1","updatedAt":1770714000000}}`,
		"agents/main/sessions/s1.jsonl": header("s1") + strings.Join(lines, ""),
	}
}

// memory is a store.Loader that keeps records in memory, counts commits and can fail
// them.
type memory struct {
	sessions  map[string]*stored
	bookmarks map[string]string
	loads     int
	discard   bool              // do not keep messages, only count their bytes
	bytes     int64             // of messages
	onLoad    func(n int)       // called before the n-th commit, counted from 1
	fail      func(n int) error // returns the error of the n-th commit
}

type stored struct {
	abi.Session
	Extra    string
	Messages []store.Message
	bySource map[string]int
}

var _ store.Loader = (*memory)(nil)

func newMemory() *memory {
	return &memory{sessions: map[string]*stored{}, bookmarks: map[string]string{}}
}

func (m *memory) Snapshot(context.Context) (store.Snapshot, error) { return memoryView{m}, nil }

func (m *memory) Bookmark(_ context.Context, name string) (string, error) {
	return m.bookmarks[name], nil
}

func (m *memory) Load(ctx context.Context, fn func(store.Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.loads++
	if m.onLoad != nil {
		m.onLoad(m.loads)
	}
	b := &memoryBatch{m: m, bookmarks: map[string]string{}, sessions: map[string]*stored{}}
	if err := fn(b); err != nil {
		return err
	}
	if m.fail != nil {
		if err := m.fail(m.loads); err != nil {
			return err
		}
	}
	maps.Copy(m.sessions, b.sessions)
	maps.Copy(m.bookmarks, b.bookmarks)
	m.bytes += b.bytes
	return nil
}

// memoryBatch changes copies, which replace the originals on commit.
type memoryBatch struct {
	m         *memory
	sessions  map[string]*stored
	bookmarks map[string]string
	bytes     int64
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
	if c.JSON = bytes.Clone(msg.JSON); b.m.discard {
		c = store.Message{}
	}
	if i, ok := s.bySource[msg.SourceID]; ok && !b.m.discard {
		if bytes.Equal(s.Messages[i].JSON, msg.JSON) {
			return store.Unchanged, nil
		}
		s.Messages[i] = c
		return store.Updated, nil
	}
	if !b.m.discard {
		s.bySource[msg.SourceID] = len(s.Messages)
		s.Messages = append(s.Messages, c)
	}
	return store.Inserted, nil
}

func (b *memoryBatch) SetBookmark(name, value string) error {
	b.bookmarks[name] = value
	return nil
}

// memoryView supports Get, the only method that the importer calls.
type memoryView struct{ m *memory }

func (v memoryView) Get(_ context.Context, key string) (*abi.Session, error) {
	if s := v.m.sessions[key]; s != nil {
		return &s.Session, nil
	}
	return nil, nil
}

var errUnsupported = errors.New("not supported by memoryView")

func (v memoryView) Resolve(context.Context, *abi.ResolveRequest) (*abi.Session, error) {
	return nil, errUnsupported
}

func (v memoryView) List(context.Context, *abi.ListRequest) (*abi.ListPage, error) {
	return nil, errUnsupported
}

func (v memoryView) History(context.Context, *abi.HistoryRequest) (*abi.HistoryPage, error) {
	return nil, errUnsupported
}

func (v memoryView) Close() error { return nil }

// dump returns the store as text: one line for each session, followed by its messages.
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
