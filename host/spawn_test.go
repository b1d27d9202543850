package host_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// session is a caller that is a connection of this session.
func session(key string) abi.Caller {
	id, _, _ := sessionkey.Split(key)
	return abi.Caller{SessionKey: key, AgentID: id}
}

// enter stores sessions.
func enter(t *testing.T, db store.Durable, rows ...abi.Session) {
	t.Helper()
	err := db.Update(t.Context(), func(tx store.Tx) error {
		for i := range rows {
			if rows[i].UpdatedAt == 0 {
				rows[i].UpdatedAt = 1
			}
			if err := tx.PutSession(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// linked is a session with a channel: what is announced to it is posted to its key.
func linked(key string) abi.Session {
	return abi.Session{Key: key, SessionID: "id of " + key, LastChannel: "telegram", LastTo: key}
}

// row returns a session as it is stored, or nil.
func row(t *testing.T, db store.Store, key string) *abi.Session {
	t.Helper()
	snapshot, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	s, err := snapshot.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// cutOff lets a host whose agents may never end by themselves be closed at the end of
// the test all the same.
func cutOff(t *testing.T, h *host.Host) *host.Host {
	t.Helper()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(now) // it says that it was cut off
	})
	return h
}

// spawned is an accepted spawn.
type spawned struct{ flow, run, child string }

// spawn calls sessions_spawn, which must accept.
func spawn(t *testing.T, h *host.Host, as abi.Caller, args string) spawned {
	t.Helper()
	answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: as, Args: []byte(args)})
	if err != nil {
		t.Fatal(err)
	}
	result := gjson.ParseBytes(answer.Result)
	if answer.Code != "" || result.Get("status").Str != "accepted" {
		t.Fatalf("the spawn is answered %s", answer.Result)
	}
	return spawned{answer.FlowID, result.Get("runId").Str, result.Get("childSessionKey").Str}
}

// standing waits until a flow, with its delivery, is at rest, and returns how it
// stands.
func standing(t *testing.T, h *host.Host, flow string) string {
	t.Helper()
	if _, err := h.WaitFlow(t.Context(), flow); err != nil {
		t.Fatal(err)
	}
	f, err := h.Flow(t.Context(), flow) // as of its deliveries' end
	if err != nil {
		t.Fatal(err)
	}
	if f.Error != "" {
		t.Errorf("the flow is %s: %s", f.Status, f.Error)
	}
	return f.Standing()
}

// announces reports whether a turn writes a child's report.
func announces(turn *runner.Turn) bool { return strings.HasPrefix(turn.Message, "Your task is over") }

// wall is a sink that keeps what it gets, unless it is told to refuse for good.
type wall struct {
	mu     sync.Mutex
	refuse string
	posts  []sink.Message
}

func (w *wall) Post(_ context.Context, m *sink.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != "" {
		return &sink.Permanent{Err: errors.New(w.refuse)}
	}
	w.posts = append(w.posts, *m)
	return nil
}

func (w *wall) say(refuse string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

// take returns what was posted since the last time.
func (w *wall) take() []sink.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	posts := w.posts
	w.posts = nil
	return posts
}

// posting lets a host post to the wall, whatever the channel.
func (w *wall) posting(o *host.Options) {
	o.Sinks = func(string) (sink.Sink, error) { return w, nil }
}

// report is an announce, taken apart.
type report struct{ status, result, notes, stats string }

var announced = regexp.MustCompile(`^Status: (\w+)\nResult: ((?s:.*))\nNotes: ((?s:.*))\n\nStats: (.*)$`)

// read takes an announce apart, which must be one whole and no more.
func read(t *testing.T, text string) report {
	t.Helper()
	m := announced.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no announce: %.300q", text)
	}
	for _, label := range []string{"\nStatus: ", "\nStats: "} {
		if n := strings.Count("\n"+text, label); n != 1 {
			t.Fatalf("%d times %q in an announce: %.300q", n, label, text)
		}
	}
	return report{m[1], m[2], m[3], m[4]}
}

// only returns the one announce that was posted, to the channel of this session.
func (w *wall) only(t *testing.T, to string) report {
	t.Helper()
	posts := w.take()
	if len(posts) != 1 {
		t.Fatalf("%d texts were posted, want one: %.600q", len(posts), posts)
	}
	if posts[0].To != to || posts[0].SessionKey != to {
		t.Errorf("posted to %+v for %s, want %s", posts[0].Target, posts[0].SessionKey, to)
	}
	return read(t, posts[0].Text)
}
