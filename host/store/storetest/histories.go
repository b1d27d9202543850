package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

const historyKey = "agent:main:history"

// roles are the roles of a transcript with sequences of every kind of message.
var roles = strings.Fields("system user assistant toolResult toolResult tool assistant user assistant tool note toolResult assistant toolResult")

// putRoles puts a transcript: message i has roles[i] and the content "i".
func putRoles(t *testing.T, s store.Loader) {
	load(t, s, func(b store.Batch) error {
		_, err := b.PutSession(&abi.Session{Key: historyKey, SessionID: "s"}, nil)
		for i, role := range roles {
			err = errors.Join(err, putText(b, historyKey, fmt.Sprint("m", i), role, fmt.Sprint(i)))
		}
		return err
	})
}

func testHistory(t *testing.T, s store.Loader) {
	putRoles(t, s)
	tools := []string{"toolResult", "tool"}
	for _, c := range []struct {
		name string
		r    abi.HistoryRequest
		want string
		more bool
	}{
		{"newest", abi.HistoryRequest{Limit: 3}, "13 12 11", true},
		{"all", abi.HistoryRequest{Limit: 14}, "13 12 11 10 9 8 7 6 5 4 3 2 1 0", false},
		{"before", abi.HistoryRequest{Limit: 2, Before: 3}, "1 0", false},
		{"before the first", abi.HistoryRequest{Limit: 2, Before: 1}, "", false},
		{"before a future message", abi.HistoryRequest{Limit: 1, Before: 1 << 40}, "13", true},
		{"skip", abi.HistoryRequest{Limit: 2, Skip: 12}, "1 0", false},
		{"skip all", abi.HistoryRequest{Limit: 2, Skip: 14}, "", false},
		{"skip more", abi.HistoryRequest{Limit: 2, Skip: 1 << 40}, "", false},
		{"skip and before", abi.HistoryRequest{Limit: 2, Skip: 3, Before: 13}, "8 7", true},
		{"no tools", abi.HistoryRequest{Limit: 3, ExcludeRoles: tools}, "12 10 8", true},
		{"no tools, all", abi.HistoryRequest{Limit: 8, ExcludeRoles: tools}, "12 10 8 7 6 2 1 0", false},
		{"no tools, skip", abi.HistoryRequest{Limit: 2, Skip: 3, ExcludeRoles: tools}, "7 6", true},
		{"no tools, before a tool", abi.HistoryRequest{Limit: 2, Before: 6, ExcludeRoles: tools}, "2 1", true},
		{"no tools, before and skip", abi.HistoryRequest{Limit: 2, Before: 8, Skip: 1, ExcludeRoles: tools}, "2 1", true},
		{"no tools, skip all", abi.HistoryRequest{Limit: 2, Skip: 8, ExcludeRoles: tools}, "", false},
		{"one of the tool roles", abi.HistoryRequest{Limit: 3, ExcludeRoles: []string{"toolResult"}}, "12 10 9", true},
		{"no tools and others", abi.HistoryRequest{Limit: 3, Skip: 1, ExcludeRoles: []string{"note", "user", "tool", "toolResult", "note", "absent"}}, "8 6 2", true},
		{"others, to the end", abi.HistoryRequest{Limit: 5, Skip: 9, ExcludeRoles: []string{"system"}}, "4 3 2 1", false},
		{"others, just to the end", abi.HistoryRequest{Limit: 4, Skip: 9, ExcludeRoles: []string{"system"}}, "4 3 2 1", false},
		{"others and before", abi.HistoryRequest{Limit: 2, Before: 13, Skip: 1, ExcludeRoles: []string{"tool"}}, "10 8", true},
		{"every role", abi.HistoryRequest{Limit: 2, ExcludeRoles: roles}, "", false},
		{"absent session", abi.HistoryRequest{SessionKey: "agent:main:absent", Limit: 2}, "", false},
	} {
		if c.r.SessionKey == "" {
			c.r.SessionKey = historyKey
		}
		page := history(t, s, &c.r)
		if got := strings.Join(texts(page.Messages), " "); got != c.want || page.More != c.more {
			t.Errorf("%s: got %q, more %v; want %q, %v", c.name, got, page.More, c.want, c.more)
		}
	}
}

func testHistoryPages(t *testing.T, s store.Loader) {
	putRoles(t, s)
	for _, exclude := range [][]string{nil, {"tool", "toolResult"}, {"user"}} {
		full := texts(history(t, s, &abi.HistoryRequest{SessionKey: historyKey, Limit: 100, ExcludeRoles: exclude}).Messages)
		for limit := 1; limit <= len(full)+1; limit++ {
			for _, by := range []string{"before", "skip"} {
				r := &abi.HistoryRequest{SessionKey: historyKey, Limit: limit, ExcludeRoles: exclude}
				var got []string
				for {
					page := history(t, s, r)
					got = append(got, texts(page.Messages)...)
					if !page.More || len(got) > len(full) {
						break
					}
					if by == "skip" {
						r.Skip += len(page.Messages)
					} else {
						r.Before = page.Messages[len(page.Messages)-1].Seq
					}
				}
				if diff := cmp.Diff(full, got); diff != "" {
					t.Errorf("without %q, pages of %d by %s (-want +got):\n%s", exclude, limit, by, diff)
				}
			}
		}
	}
}

func testHistorySize(t *testing.T, s store.Loader) {
	putRoles(t, s)
	for _, exclude := range [][]string{nil, {"tool", "toolResult"}, {"user"}} {
		full := history(t, s, &abi.HistoryRequest{SessionKey: historyKey, Limit: 100, ExcludeRoles: exclude}).Messages
		for n := 1; n <= len(full); n++ {
			part := abi.HistoryPage{Messages: full[:n], More: n < len(full)}
			exact := len(abi.AppendReply(nil, &part))
			for _, c := range []struct{ bytes, messages int }{{exact - 1, max(n-1, 1)}, {exact, n}, {1, 1}} {
				page := history(t, s, &abi.HistoryRequest{SessionKey: historyKey, Limit: 100, ExcludeRoles: exclude, MaxBytes: c.bytes})
				if len(page.Messages) != c.messages || page.More != (c.messages < len(full)) {
					t.Errorf("without %q, %d bytes where %d messages need %d: %d messages, more %v; want %d",
						exclude, c.bytes, n, exact, len(page.Messages), page.More, c.messages)
				}
			}
		}
	}
}

// testHistoryRoleChange turns messages into tool results and back. This changes the
// positions of all later messages in histories without tool results.
func testHistoryRoleChange(t *testing.T, s store.Loader) {
	putRoles(t, s)
	reference := NewMemory()
	putRoles(t, reference)
	for _, step := range []struct {
		i    int
		role string
	}{{2, "toolResult"}, {3, "user"}, {13, "assistant"}, {0, "tool"}, {2, "user"}, {5, "toolResult"}} {
		for _, each := range []store.Loader{s, reference} {
			load(t, each, func(b store.Batch) error {
				return errors.Join(putText(b, historyKey, fmt.Sprint("m", step.i), step.role, fmt.Sprint(step.i)),
					putText(b, historyKey, "", "user", "then"))
			})
		}
		for skip := range 16 {
			r := &abi.HistoryRequest{SessionKey: historyKey, Limit: 3, Skip: skip, ExcludeRoles: []string{"toolResult", "tool"}}
			if diff := cmp.Diff(history(t, reference, r), history(t, s, r)); diff != "" {
				t.Fatalf("message %d is now %s, skip %d (-want +got):\n%s", step.i, step.role, skip, diff)
			}
		}
	}
}

func testLongMessages(t *testing.T, s store.Loader) {
	long := strings.Repeat("ä", abi.MaxString/2)
	messages := []store.Message{
		{SourceID: "1", Role: "user", JSON: []byte(`{"role":"user","content":"short"}`)},
		{SourceID: "2", Role: "toolResult", JSON: []byte(`{"role":"toolResult","content":"` + long + `ä","details":{"a/b":"` + long + long + `"}}`)},
		{SourceID: "3", Role: "assistant", JSON: []byte(`{"role":"assistant","content":["` + strings.Repeat(long[:60<<10]+`","`, 40) + `"]}`)},
		{SourceID: "4", Role: "toolResult", JSON: []byte(`{"role":"toolResult","content":[` + strings.Repeat("1,", 1<<20) + `1],"timestamp":5}`)},
		{SourceID: "5", Role: "user", JSON: []byte(`{"role":"user","content":["` + long + `","` + long + `"]}`)},
	}
	reference := NewMemory()
	for _, each := range []store.Loader{s, reference} {
		load(t, each, func(b store.Batch) error {
			_, err := b.PutSession(&abi.Session{Key: historyKey, SessionID: "s"}, nil)
			for i := range messages {
				_, e := b.PutMessage(historyKey, &messages[i])
				err = errors.Join(err, e)
			}
			return err
		})
	}
	for _, r := range []*abi.HistoryRequest{
		{SessionKey: historyKey, Limit: 10}, {SessionKey: historyKey, Limit: 10, Skip: 2}, {SessionKey: historyKey, Limit: 10, MaxBytes: 8 << 20},
		{SessionKey: historyKey, Limit: 2, Before: 4, ExcludeRoles: []string{"tool", "toolResult"}},
	} {
		want, got := history(t, reference, r), history(t, s, r)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %d messages of %d bytes; want %d of %d, or the truncations differ", r.AppendJSON(nil),
				len(got.Messages), len(abi.AppendReply(nil, got)), len(want.Messages), len(abi.AppendReply(nil, want)))
		}
	}
	if truncations := history(t, s, &abi.HistoryRequest{SessionKey: historyKey, Limit: 1, Before: 5}).Messages[0].Truncations; len(truncations) != 1 || truncations[0].Path != "" {
		t.Errorf("a message that cannot be shortened: truncated at %v; want the whole message", truncations)
	}
	load(t, s, func(b store.Batch) error {
		for i := range messages {
			if c, err := b.PutMessage(historyKey, &messages[i]); c != store.Unchanged || err != nil {
				t.Errorf("message %d put again: %v, %v; want unchanged", i+1, c, err)
			}
		}
		short := store.Message{SourceID: "2", Role: "toolResult", JSON: []byte(`{"role":"toolResult","content":"now short"}`)}
		if c, err := b.PutMessage(historyKey, &short); c != store.Updated || err != nil {
			t.Errorf("a message that becomes short: %v, %v; want updated", c, err)
		}
		if c, err := b.PutMessage(historyKey, &messages[1]); c != store.Updated || err != nil {
			t.Errorf("a message that becomes long again: %v, %v; want updated", c, err)
		}
		return nil
	})
}
