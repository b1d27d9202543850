package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func ptr[T any](v T) *T { return &v }

// complete returns a session with all members set.
func complete(key string) *abi.Session {
	s := &abi.Session{Key: key, DeliveryContext: abi.Target{Channel: "discord", To: "channel:1", AccountID: "bot", ThreadID: "77"}}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case !f.IsZero():
		case f.Kind() == reflect.String:
			f.SetString(v.Type().Field(i).Name + " \"ä\\\n\u2028😀")
		case f.Kind() == reflect.Int64:
			f.SetInt(1_700_000_000_000 + int64(i))
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.Type() == reflect.TypeFor[*int64]():
			f.Set(reflect.ValueOf(ptr(int64(1) << 53)))
		case f.Type() == reflect.TypeFor[*bool]():
			f.Set(reflect.ValueOf(ptr(false)))
		default:
			panic("a session has a member of a new type: " + v.Type().Field(i).Name)
		}
	}
	s.AgentID, s.Kind = "main", "group"
	return s
}

func testRoundTrip(t *testing.T, s store.Loader) {
	full := complete("agent:main:discord:group:1")
	zero := &abi.Session{Key: "agent:main:zeros", AgentID: "main", Kind: "other", ContextTokens: ptr(int64(0)), TotalTokens: ptr(int64(-1)), SystemSent: ptr(true)}
	bare := &abi.Session{Key: "agent:main:bare", AgentID: "main", Kind: "other"}
	put(t, s, full, zero, bare)
	v := view(t, s)
	for _, want := range []*abi.Session{full, zero, bare} {
		got, err := v.Get(context.Background(), want.Key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-put +got):\n%s", want.Key, diff)
		}
	}
	page := list(t, s, &abi.ListRequest{IncludeArchived: true, Limit: 1})
	if diff := cmp.Diff(*full, page.Rows[0].Session); diff != "" {
		t.Errorf("listed (-put +got):\n%s", diff)
	}
	for _, key := range []string{"agent:main:absent", "main", "", "agent:main:BARE", "global"} {
		if got, err := v.Get(context.Background(), key); got != nil || err != nil {
			t.Errorf("get %q: %v, %v; want no session", key, got, err)
		}
	}
}

func testKeys(t *testing.T, s store.Loader) {
	for _, c := range []struct{ key, agent, kind string }{
		{"agent:main:cron:daily", "main", "cron"},
		{"agent:ops:discord:channel:1:thread:2", "ops", "group"},
		{"agent:ops:subagent:1", "ops", "other"},
		{"global", "", "other"},
	} {
		put(t, s, &abi.Session{Key: c.key})
		got, err := view(t, s).Get(context.Background(), c.key)
		if err != nil || got == nil || got.AgentID != c.agent || got.Kind != c.kind {
			t.Errorf("%s: %+v, %v; want agent %q and kind %q", c.key, got, err, c.agent, c.kind)
		}
	}
	for _, bad := range []abi.Session{
		{Key: ""}, {Key: "main"}, {Key: "agent:main:"}, {Key: "agent::x"},
		{Key: "agent:main:x", AgentID: "ops"}, {Key: "agent:main:x", Kind: "cron"}, {Key: "agent:main:main", Kind: "main"},
	} {
		load(t, s, func(b store.Batch) error {
			if _, err := b.PutSession(&bad, nil); !errors.Is(err, abi.InvalidArgs) {
				t.Errorf("put %+v: %v; want invalid_args", bad, err)
			}
			return nil
		})
	}
}

func testChanges(t *testing.T, s store.Loader) {
	const key = "agent:main:x"
	base := abi.Session{Key: key, SessionID: "s1", UpdatedAt: 1}
	newer := base
	newer.UpdatedAt = 2
	load(t, s, func(b store.Batch) error {
		change := func(name string, want store.Change, got store.Change, err error) {
			t.Helper()
			if got != want || err != nil {
				t.Errorf("%s: %v, %v; want %v", name, got, err, want)
			}
		}
		session := func(name string, x abi.Session, extra string, want store.Change) {
			t.Helper()
			got, err := b.PutSession(&x, []byte(extra))
			change(name, want, got, err)
		}
		session("new", base, "", store.Inserted)
		session("same", base, "", store.Unchanged)
		session("newer", newer, "", store.Updated)
		session("extra", newer, `{"a":1}`, store.Updated)
		session("same extra", newer, `{"a":1}`, store.Unchanged)
		session("other extra", newer, `{"a":2}`, store.Updated)
		session("other extra and data", base, `{"a":3}`, store.Updated)
		session("no extra", base, "", store.Updated)
		session("still no extra", base, "", store.Unchanged)

		message := func(name string, m store.Message, want store.Change) {
			t.Helper()
			got, err := b.PutMessage(key, &m)
			change(name, want, got, err)
		}
		m := store.Message{SourceID: "1", Role: "user", At: 5, JSON: []byte(`{"role":"user","content":"a"}`)}
		message("new message", m, store.Inserted)
		message("same message", m, store.Unchanged)
		m.At = 6
		message("other time", m, store.Updated)
		m.JSON = []byte(`{"role":"user","content":"b"}`)
		message("other content", m, store.Updated)
		m.Role = "toolResult"
		message("other role", m, store.Updated)
		message("same again", m, store.Unchanged)
		m.RunID = "r"
		message("a run", m, store.Updated)
		message("same run", m, store.Unchanged)
		m.RunID = ""
		message("no run", m, store.Updated)
		m.SourceID = ""
		message("no source id", m, store.Inserted)
		message("no source id again", m, store.Inserted)

		_, err := b.PutMessage("agent:main:absent", &m)
		if !errors.Is(err, abi.NotFound) {
			t.Errorf("message of an absent session: %v; want not_found", err)
		}
		_, err = b.PutMessage(key, &store.Message{Role: "user"})
		if !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("message without JSON: %v; want invalid_args", err)
		}
		return nil
	})
	load(t, s, func(b store.Batch) error { // in another transaction
		got, err := b.PutMessage(key, &store.Message{SourceID: "1", Role: "toolResult", At: 6, JSON: []byte(`{"role":"user","content":"b"}`)})
		if got != store.Unchanged || err != nil {
			t.Errorf("message loaded again: %v, %v; want unchanged", got, err)
		}
		got, err = b.PutSession(&base, nil)
		if got != store.Unchanged || err != nil {
			t.Errorf("session loaded again: %v, %v; want unchanged", got, err)
		}
		return nil
	})
	if got := len(history(t, s, &abi.HistoryRequest{SessionKey: key, Limit: 10}).Messages); got != 3 {
		t.Errorf("%d messages are stored; want 3", got)
	}
}

func testTranscripts(t *testing.T, s store.Loader) {
	const key = "agent:main:x"
	say := func(b store.Batch, sessionID, text string) error {
		_, err := b.PutSession(&abi.Session{Key: key, SessionID: sessionID}, nil)
		return errors.Join(err, putText(b, key, "m", "user", text))
	}
	for _, step := range []struct{ sessionID, text string }{{"s1", "one"}, {"s2", "two"}} {
		load(t, s, func(b store.Batch) error { return say(b, step.sessionID, step.text) })
		got := texts(history(t, s, &abi.HistoryRequest{SessionKey: key, Limit: 10}).Messages)
		if !reflect.DeepEqual(got, []string{step.text}) {
			t.Errorf("transcript of %s: %q; want only %q", step.sessionID, got, step.text)
		}
	}
	load(t, s, func(b store.Batch) error { // s1, s2 and s1 again in one batch
		return errors.Join(say(b, "s1", "one"), putText(b, key, "m2", "user", "three"), say(b, "s2", "two"), say(b, "s1", "one"))
	})
	got := texts(history(t, s, &abi.HistoryRequest{SessionKey: key, Limit: 10}).Messages)
	if !reflect.DeepEqual(got, []string{"three", "one"}) {
		t.Errorf("transcript of s1 after the switch back: %q", got)
	}
}

func testResolve(t *testing.T, s store.Loader) {
	put(t, s,
		&abi.Session{Key: "agent:main:a", SessionID: "shared", UpdatedAt: 1},
		&abi.Session{Key: "agent:main:b", SessionID: "shared", UpdatedAt: 3, ArchivedAt: 9},
		&abi.Session{Key: "agent:ops:c", SessionID: "shared", UpdatedAt: 5, SpawnedBy: "agent:main:a"},
		&abi.Session{Key: "agent:ops:main", SessionID: "mainly", UpdatedAt: 5},
		&abi.Session{Key: "agent:ops:none", UpdatedAt: 5},
		&abi.Session{Key: "global", SessionID: "all", AgentID: "main", UpdatedAt: 5},
	)
	for _, c := range []struct {
		name string
		r    abi.ResolveRequest
		want string
	}{
		{"newest of all", abi.ResolveRequest{SessionID: "shared"}, "agent:ops:c"},
		{"archived too", abi.ResolveRequest{SessionID: "shared", Scope: &abi.Scope{Agents: []string{"m*"}}}, "agent:main:b"},
		{"by key", abi.ResolveRequest{SessionID: "shared", Scope: &abi.Scope{Keys: []string{"agent:main:a"}}}, "agent:main:a"},
		{"by parent", abi.ResolveRequest{SessionID: "shared", Scope: &abi.Scope{SpawnedBy: "agent:main:a"}}, "agent:ops:c"},
		{"nothing in scope", abi.ResolveRequest{SessionID: "shared", Scope: &abi.Scope{}}, ""},
		{"other case", abi.ResolveRequest{SessionID: "Shared"}, ""},
		{"empty", abi.ResolveRequest{}, ""},
		{"main", abi.ResolveRequest{SessionID: "mainly"}, "agent:ops:main"},
		{"main under the global scope", abi.ResolveRequest{SessionID: "mainly", Global: "main"}, ""},
		{"global", abi.ResolveRequest{SessionID: "all"}, ""},
		{"global under the global scope", abi.ResolveRequest{SessionID: "all", Global: "ops", Scope: &abi.Scope{Agents: []string{"ops"}}}, "global"},
		{"global of another agent", abi.ResolveRequest{SessionID: "all", Global: "ops", Scope: &abi.Scope{Agents: []string{"main"}}}, ""},
	} {
		got, err := view(t, s).Resolve(context.Background(), &c.r)
		if err != nil || (got == nil) != (c.want == "") || got != nil && got.Key != c.want {
			t.Errorf("%s: %+v, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func testBookmarks(t *testing.T, s store.Loader) {
	ctx := context.Background()
	load(t, s, func(b store.Batch) error {
		return errors.Join(b.SetBookmark("a", "1"), b.SetBookmark("b", "ü\x00"), b.SetBookmark("a", "2"), b.SetBookmark("c", ""))
	})
	failed := errors.New("failed")
	if err := s.Load(ctx, func(b store.Batch) error { return errors.Join(b.SetBookmark("a", "3"), failed) }); !errors.Is(err, failed) {
		t.Errorf("load: %v", err)
	}
	for name, want := range map[string]string{"a": "2", "b": "ü\x00", "c": "", "absent": ""} {
		if got, err := s.Bookmark(ctx, name); got != want || err != nil {
			t.Errorf("bookmark %s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// putText puts a message with this content.
func putText(b store.Batch, key, sourceID, role, text string) error {
	_, err := b.PutMessage(key, &store.Message{SourceID: sourceID, Role: role, JSON: fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text)})
	return err
}
