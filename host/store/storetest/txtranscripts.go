package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func testTxTranscripts(t *testing.T, s store.Durable) {
	const key = "agent:main:x"
	say := func(tx store.Tx, run, role, text string) error {
		return tx.Append(key, &store.Message{Role: role, RunID: run, JSON: []byte(`{"role":"` + role + `","content":"` + text + `"}`)})
	}
	if err := s.Update(context.Background(), func(tx store.Tx) error { return say(tx, "r1", "user", "early") }); !errors.Is(err, abi.NotFound) {
		t.Errorf("a message for a session that is not stored: %v; want not_found", err)
	}
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutSession(&abi.Session{Key: key, SessionID: "s"}), say(tx, "r1", "user", "1"), say(tx, "", "note", "2"))
	})
	// A message that is rolled back uses no position in the transcript.
	_ = s.Update(context.Background(), func(tx store.Tx) error { return errors.Join(say(tx, "r1", "user", "lost"), errors.New("failed")) })
	long := strings.Repeat("ä", abi.MaxString)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(say(tx, "r2", "user", "3"), say(tx, "r1", "toolResult", long), say(tx, "r1", "assistant", "5"))
	})
	page := history(t, s, &abi.HistoryRequest{SessionKey: key, Limit: 10})
	seqs := []int64{}
	for _, m := range page.Messages {
		seqs = append(seqs, m.Seq)
	}
	if got := texts(page.Messages); got[0] != "5" || got[2] != "3" || got[3] != "2" || got[4] != "1" || fmt.Sprint(seqs) != "[5 4 3 2 1]" {
		t.Errorf("the history is %.20q at %v", got, seqs)
	}
	if truncations := page.Messages[1].Truncations; len(truncations) != 1 || truncations[0].Bytes != int64(len(long)) {
		t.Errorf("the long message has the truncations %v", truncations)
	}
	if got := texts(history(t, s, &abi.HistoryRequest{SessionKey: key, Limit: 2, ExcludeRoles: store.ToolResultRoles}).Messages); fmt.Sprint(got) != "[5 3]" {
		t.Errorf("the newest messages without tool results are %q", got)
	}
	for run, want := range map[string][]string{
		"r1":     {`{"role":"user","content":"1"}`, `{"role":"toolResult","content":"` + long + `"}`, `{"role":"assistant","content":"5"}`},
		"r2":     {`{"role":"user","content":"3"}`},
		"absent": {}, "": {},
	} {
		got := []string{}
		for _, m := range inView(t, s, func(ctx context.Context, v store.View) ([][]byte, error) { return v.RunMessages(ctx, run) }) {
			got = append(got, string(m))
		}
		if !cmp.Equal(want, got) {
			t.Errorf("run %q has stored %.80q; want %.80q", run, got, want)
		}
	}
	// Another sessionId starts a new transcript. The run keeps its messages.
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutSession(&abi.Session{Key: key, SessionID: "s2"}), say(tx, "r2", "assistant", "6"))
	})
	if got := texts(history(t, s, &abi.HistoryRequest{SessionKey: key, Limit: 10}).Messages); fmt.Sprint(got) != "[6]" {
		t.Errorf("the new transcript is %q", got)
	}
	if got := inView(t, s, func(ctx context.Context, v store.View) ([][]byte, error) { return v.RunMessages(ctx, "r2") }); len(got) != 2 {
		t.Errorf("run r2 has stored %q", got)
	}
}

func testTxSessions(t *testing.T, s store.Durable) {
	full := complete("agent:main:discord:group:1")
	bare := &abi.Session{Key: "agent:ops:cron:1"}
	update(t, s, func(tx store.Tx) error {
		if got, err := tx.Session(full.Key); got != nil || err != nil {
			t.Errorf("session: %v, %v; want none", got, err)
		}
		return errors.Join(tx.PutSession(full), tx.PutSession(bare))
	})
	for _, want := range []*abi.Session{full, {Key: bare.Key, AgentID: "ops", Kind: "cron"}} {
		got := inUpdate(t, s, func(tx store.Tx) (*abi.Session, error) { return tx.Session(want.Key) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-put +got):\n%s", want.Key, diff)
		}
	}
	if err := s.Update(context.Background(), func(tx store.Tx) error { return tx.PutSession(&abi.Session{Key: "main"}) }); !errors.Is(err, abi.InvalidArgs) {
		t.Errorf("a key that is not canonical: %v; want invalid_args", err)
	}
	loader, ok := s.(store.Loader)
	if !ok {
		return
	}
	// Updates keep the extra members of the source: loading them again changes nothing.
	extra := []byte(`{"unknown":1}`)
	loaded := func(want store.Change) {
		t.Helper()
		load(t, loader, func(b store.Batch) error {
			if got, err := b.PutSession(bare, extra); got != want || err != nil {
				t.Errorf("loaded: %v, %v; want %v", got, err, want)
			}
			return nil
		})
	}
	loaded(store.Updated)
	update(t, s, func(tx store.Tx) error { return tx.PutSession(&abi.Session{Key: bare.Key, Label: "changed"}) })
	update(t, s, func(tx store.Tx) error { return tx.PutSession(bare) })
	loaded(store.Unchanged)
}
