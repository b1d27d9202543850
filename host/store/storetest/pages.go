package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// testListPages lists sessions, many of which have the same updatedAt, in pages of
// several sizes. Each session must be listed once.
func testListPages(t *testing.T, s store.Loader) {
	var want []string
	load(t, s, func(b store.Batch) error {
		for at := range 4 {
			for i := range 15 {
				key := fmt.Sprintf("agent:a%d:%s%02d", i%3, []string{"cron:", "x", "node-"}[i/3%3], i)
				key = fmt.Sprintf("%s:%d", key, at)
				want = append(want, key)
				_, err := b.PutSession(&abi.Session{Key: key, UpdatedAt: int64(at / 2), Label: "l", SpawnedBy: "agent:p:p", SessionID: key}, nil)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	slices.SortFunc(want, func(a, b string) int {
		if newer := strings.Compare(updatedAtOf(b), updatedAtOf(a)); newer != 0 {
			return newer
		}
		return strings.Compare(a, b)
	})
	for _, r := range []abi.ListRequest{
		{}, {Label: "l"}, {Search: "a"}, {Kinds: []string{"cron", "node", "other", "main"}},
		{Scope: &abi.Scope{Agents: []string{"a*"}}}, {Scope: &abi.Scope{SpawnedBy: "agent:p:p"}},
		{Scope: &abi.Scope{SpawnedBy: "agent:p:p", Agents: []string{"a1"}, Keys: want[20:30]}, Label: "l"},
		{Scope: &abi.Scope{Keys: want}},
	} {
		for _, limit := range []int{1, 7, 59, 60, 61} {
			r.Limit, r.After = limit, nil
			var got []string
			for {
				page := list(t, s, &r)
				got = append(got, keys(page)...)
				if !page.More || len(page.Rows) == 0 || len(got) > len(want) {
					break
				}
				last := &page.Rows[len(page.Rows)-1].Session
				r.After = &abi.Position{UpdatedAt: last.UpdatedAt, Key: last.Key}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: pages (-want +got):\n%s", r.AppendJSON(nil), diff)
			}
		}
	}
}

// updatedAtOf returns the updatedAt of a session that testListPages created, as text.
func updatedAtOf(key string) string { return fmt.Sprint(int(key[len(key)-1]-'0') / 2) }

func testListMessages(t *testing.T, s store.Loader) {
	load(t, s, func(b store.Batch) error {
		for i, key := range []string{"agent:main:empty", "agent:main:tools", "agent:main:mixed"} {
			if _, err := b.PutSession(&abi.Session{Key: key, UpdatedAt: int64(3 - i)}, nil); err != nil {
				return err
			}
		}
		for i, role := range strings.Fields("toolResult tool") {
			if err := putText(b, "agent:main:tools", fmt.Sprint(i), role, "t"); err != nil {
				return err
			}
		}
		for i, role := range strings.Fields("user assistant toolResult tool system assistant toolResult") {
			if err := putText(b, "agent:main:mixed", fmt.Sprint(i), role, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		n    int
		want []string
		seqs []int64
	}{
		{1, []string{"5"}, []int64{6}},
		{3, []string{"1", "4", "5"}, []int64{2, 5, 6}},
		{20, []string{"0", "1", "4", "5"}, []int64{1, 2, 5, 6}},
	} {
		page := list(t, s, &abi.ListRequest{Limit: 10, Messages: c.n})
		for i := range 2 {
			if m := page.Rows[i].Messages; m == nil || len(m) != 0 {
				t.Errorf("%s, %d messages: got %v; want an empty list", page.Rows[i].Session.Key, c.n, m)
			}
		}
		var seqs []int64
		for _, m := range page.Rows[2].Messages {
			seqs = append(seqs, m.Seq)
		}
		if got := texts(page.Rows[2].Messages); !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(seqs, c.seqs) {
			t.Errorf("%d messages: got %q at %v; want %q at %v", c.n, got, seqs, c.want, c.seqs)
		}
	}
}

// testListSize requests pages with MaxBytes just below, at and above the exact size.
func testListSize(t *testing.T, s store.Loader) {
	load(t, s, func(b store.Batch) error {
		for i := range 5 {
			key := fmt.Sprintf("agent:main:%d", i)
			_, err := b.PutSession(&abi.Session{Key: key, UpdatedAt: int64(10 - i), Subject: strings.Repeat("é\n", i*7)}, nil)
			if err != nil {
				return err
			}
			for j := range i {
				if err := putText(b, key, fmt.Sprint(j), "user", strings.Repeat("text ", j)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, messages := range []int{0, 3} {
		full := list(t, s, &abi.ListRequest{Limit: 10, Messages: messages})
		for n := 1; n <= 5; n++ {
			part := abi.ListPage{Rows: full.Rows[:n], More: n < 5}
			exact := len(abi.AppendReply(nil, &part))
			for _, c := range []struct{ bytes, rows int }{{exact - 1, max(n-1, 1)}, {exact, n}, {exact + 1, n}} {
				page := list(t, s, &abi.ListRequest{Limit: 10, Messages: messages, MaxBytes: c.bytes})
				if len(page.Rows) != c.rows || page.More != (c.rows < 5) {
					t.Errorf("%d messages, %d bytes where %d rows need %d: %d rows, more %v; want %d", messages, c.bytes, n, exact, len(page.Rows), page.More, c.rows)
				}
			}
		}
	}
	if page := list(t, s, &abi.ListRequest{Limit: 10, MaxBytes: 1}); len(page.Rows) != 1 || !page.More {
		t.Errorf("one byte: %d rows, more %v; want one row and more", len(page.Rows), page.More)
	}
	if page := list(t, s, &abi.ListRequest{Limit: 10, MaxBytes: 1, AgentID: "absent"}); len(page.Rows) != 0 || page.More {
		t.Errorf("one byte, no rows: %d rows, more %v", len(page.Rows), page.More)
	}
}

// testManyAgents lists the sessions of more agents than one statement can merge.
func testManyAgents(t *testing.T, s store.Loader) {
	const n = 150
	load(t, s, func(b store.Batch) error {
		for i := range n {
			for _, rest := range []string{"main", "cron:x", "x"} {
				if _, err := b.PutSession(&abi.Session{Key: fmt.Sprintf("agent:a%03d:%s", i, rest), UpdatedAt: int64(i)}, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, c := range []struct {
		r    abi.ListRequest
		want int
	}{
		{abi.ListRequest{}, 3 * n},
		{abi.ListRequest{Kinds: []string{"main"}}, n},
		{abi.ListRequest{Kinds: []string{"cron"}}, n},
		{abi.ListRequest{Kinds: []string{"other", "main"}}, 2 * n},
		{abi.ListRequest{Scope: &abi.Scope{Agents: []string{"a*"}}}, 3 * n},
		{abi.ListRequest{Scope: &abi.Scope{Agents: []string{"a*0"}}, Kinds: []string{"cron"}}, n / 10},
		{abi.ListRequest{Search: "A14"}, 3 * 10},
	} {
		c.r.Limit = 1000
		if got := len(list(t, s, &c.r).Rows); got != c.want {
			t.Errorf("%s: %d rows; want %d", c.r.AppendJSON(nil), got, c.want)
		}
	}
}
