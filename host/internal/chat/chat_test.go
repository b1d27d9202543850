package chat_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// fixture is a Service with its own database. Only the test advances its clock, and
// its ids are numbered.
type fixture struct {
	*chat.Service
	t      *testing.T
	db     *sqlite.DB
	config *config.Config
	now    int64
	ids    int
}

const start = 1_770_000_000_000

func newFixture(t *testing.T, settings string) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, db: db, now: start, config: parse(t, settings)}
	f.Service, err = chat.New(&chat.Options{
		Store:  db,
		Config: func() *config.Config { return f.config },
		NewID:  func() string { f.ids++; return fmt.Sprintf("run-%d", f.ids) },
		Now:    func() time.Time { return time.UnixMilli(f.now) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func parse(t *testing.T, settings string) *config.Config {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (f *fixture) view(fn func(store.View)) {
	f.t.Helper()
	v, err := f.db.View(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			f.t.Error(err)
		}
	}()
	fn(v)
}

// session returns a stored session, or nil.
func (f *fixture) session(key string) (s *abi.Session) {
	f.t.Helper()
	f.view(func(v store.View) {
		var err error
		if s, err = v.Get(f.t.Context(), key); err != nil {
			f.t.Fatal(err)
		}
	})
	return s
}

// runs returns all stored runs, newest first, and checks that each run that has not
// ended is due.
func (f *fixture) runs() (runs []*store.Run) {
	f.t.Helper()
	f.view(func(v store.View) {
		var err error
		if runs, err = v.Runs(f.t.Context(), &store.Filter{}); err != nil {
			f.t.Fatal(err)
		}
		due, err := v.Due(f.t.Context(), store.KindRun)
		open := 0
		for _, r := range runs {
			if !r.Ended() {
				open++
			}
		}
		if err != nil || len(due) != open {
			f.t.Errorf("%d runs have not ended, but %v are due, %v", open, due, err)
		}
	})
	return runs
}

func (f *fixture) put(sessions ...*abi.Session) {
	f.t.Helper()
	err := f.db.Update(f.t.Context(), func(tx store.Tx) error {
		for _, s := range sessions {
			if err := tx.PutSession(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// mustSend sends a message, which must be accepted.
func (f *fixture) mustSend(m *chat.Message) *chat.Accepted {
	f.t.Helper()
	a, err := f.Send(f.t.Context(), m)
	if err != nil {
		f.t.Fatalf("Send(%+v): %v", m, err)
	}
	return a
}

// expectError checks an error's code and text.
func (f *fixture) expectError(err error, code abi.Code, text string) {
	f.t.Helper()
	var e *abi.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, text) {
		f.t.Errorf("failed with %v (%T), want %s: … %s", err, err, code, text)
	}
}

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestSendCreatesSessionAndRun(t *testing.T) {
	f := newFixture(t, `{}`)
	a := f.mustSend(&chat.Message{SessionKey: " main ", Text: " hello\xff ", From: "7",
		Target: abi.Target{Channel: "Telegram", To: "123", AccountID: "bot", ThreadID: "9"}})
	if want := (chat.Accepted{RunID: "r_run-1", Status: "accepted"}); *a != want {
		t.Errorf("accepted %+v, want %+v", *a, want)
	}
	s := f.session("agent:main:main")
	if s == nil {
		t.Fatal("there is no session")
	}
	if !uuid4.MatchString(s.SessionID) {
		t.Errorf("sessionId %q", s.SessionID)
	}
	from := abi.Target{Channel: "telegram", To: "123", AccountID: "bot", ThreadID: "9"}
	want := &abi.Session{
		Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: s.SessionID, UpdatedAt: start,
		DeliveryContext: from, LastChannel: "telegram", LastTo: "123", LastAccountID: "bot", LastThreadID: "9",
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]*store.Run{{
		ID: "r_run-1", Seq: 1, SessionKey: "agent:main:main", AgentID: "main", Group: "main", Scope: "operator",
		Message: " hello\uFFFD ", Deliver: true, Status: "queued", QueuedAt: start,
	}}, f.runs()); d != "" {
		t.Error(d)
	}

	// The second message uses the same session.
	f.now += 1000
	f.mustSend(&chat.Message{SessionKey: "agent:main:main", Text: "again"})
	again := f.session("agent:main:main")
	want.UpdatedAt = start + 1000
	if d := cmp.Diff(want, again); d != "" {
		t.Error(d)
	}
	if runs := f.runs(); len(runs) != 2 || runs[0].Message != "again" || !runs[0].Deliver {
		t.Errorf("runs %+v", runs)
	}
	// A clock that goes back does not make the session older.
	f.now = start
	f.mustSend(&chat.Message{SessionKey: "main", Text: "back"})
	if got := f.session("agent:main:main").UpdatedAt; got != start+1000 {
		t.Errorf("updatedAt went back to %d", got)
	}
}

func TestStartAgent(t *testing.T) {
	f := newFixture(t, `{session: {owners: ["telegram:1"]}}`)
	for _, deliver := range []bool{false, true} {
		a, err := f.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: "cron:daily", Message: "/send off", Deliver: deliver})
		if err != nil || a.RunID == "" || a.Status != "accepted" {
			t.Fatalf("%+v, %v", a, err)
		}
		if r := f.runs()[0]; r.Deliver != deliver || r.Message != "/send off" || r.Group != "main" || r.SessionKey != "agent:main:cron:daily" {
			t.Errorf("run %+v", r)
		}
	}
	s := f.session("agent:main:cron:daily")
	if s.SendPolicy != "" || s.Kind != "cron" || !s.DeliveryContext.IsZero() {
		t.Errorf("session %+v", s)
	}
}

func TestArchived(t *testing.T) {
	f := newFixture(t, `{}`)
	before := &abi.Session{Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: "s", UpdatedAt: 5, ArchivedAt: 6}
	f.put(before)
	for _, text := range []string{"x", "/send off"} {
		_, err := f.Send(t.Context(), &chat.Message{SessionKey: "main", Text: text})
		f.expectError(err, abi.InvalidArgs, `session "agent:main:main" is archived`)
	}
	if d := cmp.Diff(before, f.session("agent:main:main")); d != "" || len(f.runs()) != 0 {
		t.Errorf("something was written: %s", d)
	}
}

// S8.3: a refused message writes nothing, not even its origin.
func TestPolicy(t *testing.T) {
	f := newFixture(t, `{session: {sendPolicy: {rules: [{match: {channel: "discord"}, action: "deny"}]}}}`)
	from := abi.Target{Channel: "discord", To: "1"}
	_, err := f.Send(t.Context(), &chat.Message{SessionKey: "main", Text: "x", Target: from})
	f.expectError(err, abi.Forbidden, `the session takes no messages: session.sendPolicy rule 1 denies channel "discord"`)
	if f.session("agent:main:main") != nil || len(f.runs()) != 0 {
		t.Error("something was written for a new session")
	}
	before := &abi.Session{Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: "s", UpdatedAt: 5, LastChannel: "telegram", LastTo: "2"}
	f.put(before)
	_, err = f.Send(t.Context(), &chat.Message{SessionKey: "main", Text: "x", Target: from})
	f.expectError(err, abi.Forbidden, "session.sendPolicy rule 1")
	if d := cmp.Diff(before, f.session("agent:main:main")); d != "" || len(f.runs()) != 0 {
		t.Errorf("something was written: %s", d)
	}
	f.mustSend(&chat.Message{SessionKey: "main", Text: "x"})

	f.put(&abi.Session{Key: "agent:main:dm:1", AgentID: "main", Kind: "other", SessionID: "d", UpdatedAt: 5, SendPolicy: "deny"})
	_, err = f.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: "agent:main:dm:1", Message: "x"})
	f.expectError(err, abi.Forbidden, `the session's own sendPolicy is "deny"`)
}

// Repetitions of a request with the same id are one request, even if they are concurrent
// or the session has changed since.
func TestRequestID(t *testing.T) {
	f := newFixture(t, `{}`)
	m := chat.Message{SessionKey: "main", Text: "x", Target: abi.Target{Channel: "telegram", To: "1"}, RequestID: "r1"}
	var wg sync.WaitGroup
	answers := make([]*chat.Accepted, 8)
	f.Service, _ = chat.New(&chat.Options{Store: f.db, Now: func() time.Time { return time.UnixMilli(start) }})
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = f.Send(t.Context(), &m); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a == nil || a.RunID == "" || *a != *answers[0] {
			t.Fatalf("answers %+v and %+v", answers[0], a)
		}
	}
	r := f.runs()
	if len(r) != 1 || r[0].ID != answers[0].RunID || r[0].Request != (store.CallKey{Scope: "operator", ID: "r1"}) {
		t.Fatalf("runs %+v", r)
	}

	s := f.session("agent:main:main")
	s.ArchivedAt, s.SendPolicy = start, "deny"
	f.put(s)
	same := m
	same.SessionKey, same.RequestID = "agent:main:main", " r1 "
	if a := f.mustSend(&same); *a != *answers[0] {
		t.Errorf("after the session was archived: %+v", a)
	}

	for name, change := range map[string]func(*chat.Message){
		"session":   func(m *chat.Message) { m.SessionKey = "agent:main:dm:1" },
		"text":      func(m *chat.Message) { m.Text = "y" },
		"sender":    func(m *chat.Message) { m.From = "2" },
		"channel":   func(m *chat.Message) { m.Target.Channel = "signal" },
		"to":        func(m *chat.Message) { m.Target.To = "2" },
		"accountId": func(m *chat.Message) { m.Target.AccountID = "2" },
		"threadId":  func(m *chat.Message) { m.Target.ThreadID = "2" },
		"command":   func(m *chat.Message) { m.Text = "/send on" },
	} {
		other := m
		change(&other)
		_, err := f.Send(t.Context(), &other)
		f.expectError(err, abi.InvalidArgs, `the request id "r1" belongs to another request`)
		if t.Failed() {
			t.Fatalf("with another %s", name)
		}
	}
	_, err := f.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: "main", Message: "x", Deliver: true, RequestID: "r1"})
	f.expectError(err, abi.InvalidArgs, "belongs to another request")
	if len(f.runs()) != 1 || f.session("agent:main:main").SendPolicy != "deny" {
		t.Error("something was written")
	}
}

// A store error is not converted to an *abi.Error.
func TestStoreError(t *testing.T) {
	f := newFixture(t, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Send(ctx, &chat.Message{SessionKey: "main", Text: "x"})
	var known *abi.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &known) || !strings.HasPrefix(err.Error(), "chat: ") {
		t.Errorf("failed with %v", err)
	}
	if _, err := f.Patch(ctx, &chat.Patch{Key: "main"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Patch failed with %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, o := range []*chat.Options{nil, {}} {
		if _, err := chat.New(o); err == nil {
			t.Errorf("New(%+v) works without a store", o)
		}
	}
}
