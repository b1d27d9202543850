package storegen_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/storetest"
)

func generate(t *testing.T, o storegen.Options) (store.Snapshot, *storegen.Summary) {
	t.Helper()
	s := storetest.NewMemory()
	made, err := storegen.Generate(context.Background(), s, &o)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v, made
}

func TestRareProperties(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, n := range []int{storegen.MinSessions, 100, 1000} {
		v, made := generate(t, storegen.Options{Seed: 7, Sessions: n, Messages: 1, Now: now})
		if made.Sessions != n || made.Messages != n {
			t.Errorf("%d sessions: made %+v", n, made)
		}
		for name, r := range map[string]abi.ListRequest{
			"cron":   {Kinds: []string{"cron"}},
			"hook":   {Kinds: []string{"hook"}},
			"agent":  {AgentID: storegen.RareAgent},
			"label":  {Label: storegen.RareLabel},
			"child":  {Scope: &abi.Scope{SpawnedBy: storegen.MainKey}},
			"recent": {ActiveSince: now.Add(-storegen.RecentMinutes * time.Minute).UnixMilli()},
		} {
			for _, archived := range []bool{false, true} {
				r.IncludeArchived, r.Limit = archived, 100
				page, err := v.List(context.Background(), &r)
				if err != nil || len(page.Rows) != storegen.RareSessions {
					t.Errorf("%d sessions, %s: %d, %v; want %d", n, name, len(page.Rows), err, storegen.RareSessions)
				}
			}
		}
	}
}

func TestTranscripts(t *testing.T) {
	const long, large = 1000, 6 << 20
	v, made := generate(t, storegen.Options{Sessions: 100, LongMessages: long, LargeBytes: large})
	if want := int64(large); made.Sessions != 102 || made.Bytes < want || made.Bytes > 2*want {
		t.Errorf("made %+v", made)
	}
	for key, least := range map[string]int{storegen.LongKey: long, storegen.LargeKey: 50, storegen.MainKey: 20} {
		r := &abi.HistoryRequest{SessionKey: key, Limit: 1000, MaxBytes: 64 << 20}
		count, longest, roles := 0, 0, map[string]int{}
		for more := true; more; {
			page, err := v.History(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Messages {
				var doc struct {
					Role    string
					Content []map[string]any
				}
				if err := json.Unmarshal(m.JSON, &doc); err != nil || len(doc.Content) == 0 {
					t.Fatalf("%s, message %d: %v", key, m.Seq, err)
				}
				roles[doc.Role]++
				longest = max(longest, len(m.JSON))
				r.Before = m.Seq
			}
			count += len(page.Messages)
			more = page.More
		}
		if count < least || len(roles) != 3 {
			t.Errorf("%s: %d messages, by role %v", key, count, roles)
		}
		t.Logf("%s: %d messages, the longest has %d bytes, by role %v", key, count, longest, roles)
	}
}

func TestDeterministic(t *testing.T) {
	digest := func(o storegen.Options) string {
		v, _ := generate(t, o)
		page, err := v.List(context.Background(), &abi.ListRequest{Limit: 1000, Messages: 20, MaxBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(abi.AppendReply(nil, page)))
	}
	a := digest(storegen.Options{Seed: 1, Sessions: 50})
	if b := digest(storegen.Options{Seed: 1, Sessions: 50}); a != b {
		t.Error("the same options generated different stores")
	}
	if b := digest(storegen.Options{Seed: 2, Sessions: 50}); a == b {
		t.Error("two seeds generated the same store")
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []storegen.Options{{Sessions: storegen.MinSessions - 1}, {Sessions: 100, Messages: -1}} {
		if _, err := storegen.Generate(context.Background(), storetest.NewMemory(), &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := storegen.Generate(ctx, storetest.NewMemory(), &storegen.Options{Sessions: 100}); err == nil {
		t.Error("no error with a canceled context")
	}
}
