package storetest

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store"
)

// testRandom loads random sessions into a store and into the reference store, and
// compares the replies of both to random requests.
func testRandom(t *testing.T, open func(t *testing.T) store.Loader) {
	rapid.Check(t, func(r *rapid.T) {
		s, reference := open(t), store.Loader(NewMemory())
		for range rapid.IntRange(1, 3).Draw(r, "loads") {
			loadRandom(r, s, reference)
			for range rapid.IntRange(5, 25).Draw(r, "requests") {
				compareRandom(r, s, reference)
			}
		}
	})
}

// loadRandom draws one load. Every put must return the same change in both stores.
func loadRandom(r *rapid.T, s, reference store.Loader) {
	err := s.Load(context.Background(), func(b store.Batch) error {
		return reference.Load(context.Background(), func(model store.Batch) error {
			for range rapid.IntRange(1, 15).Draw(r, "puts") {
				x := sessions.Draw(r, "session")
				extra := rapid.SampledFrom([]string{"", `{"a":1}`}).Draw(r, "extra")
				want, err := model.PutSession(&x, []byte(extra))
				if err != nil {
					return err
				}
				if got, err := b.PutSession(&x, []byte(extra)); got != want || err != nil {
					r.Fatalf("put %s: %v, %v; want %v", x.AppendJSON(nil), got, err, want)
				}
				for _, m := range rapid.SliceOfN(messages, 0, 8).Draw(r, "messages") {
					want, err := model.PutMessage(x.Key, &m)
					if err != nil {
						return err
					}
					if got, err := b.PutMessage(x.Key, &m); got != want || err != nil {
						r.Fatalf("put message %+v of %s: %v, %v; want %v", m, x.Key, got, err, want)
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		r.Fatalf("load: %v", err)
	}
}

// compareRandom draws one request and compares the replies.
func compareRandom(r *rapid.T, s, reference store.Store) {
	ask := requests.Draw(r, "request")
	ctx := context.Background()
	var answers [2]any
	for i, each := range []store.Store{reference, s} {
		v, err := each.Snapshot(ctx)
		if err != nil {
			r.Fatalf("snapshot: %v", err)
		}
		answers[i], err = answer(ctx, v, ask)
		if err := v.Close(); err != nil {
			r.Fatalf("close: %v", err)
		}
		if err != nil {
			r.Fatalf("%s: %v", ask.AppendJSON(nil), err)
		}
	}
	if !reflect.DeepEqual(answers[0], answers[1]) {
		r.Fatalf("%s\nwant %s\n got %s", ask.AppendJSON(nil), answers[0], answers[1])
	}
}

// request is a request of the ABI.
type request interface{ AppendJSON([]byte) []byte }

// answer returns the encoded reply to a request.
func answer(ctx context.Context, v store.Snapshot, ask request) (string, error) {
	switch ask := ask.(type) {
	case *abi.GetRequest:
		found, err := v.Get(ctx, ask.SessionKey)
		return string(abi.AppendReply(nil, &abi.SessionReply{Session: found})), err
	case *abi.ResolveRequest:
		found, err := v.Resolve(ctx, ask)
		return string(abi.AppendReply(nil, &abi.SessionReply{Session: found})), err
	case *abi.ListRequest:
		page, err := v.List(ctx, ask)
		if err != nil {
			return "", err
		}
		return string(abi.AppendReply(nil, page)), nil
	case *abi.HistoryRequest:
		page, err := v.History(ctx, ask)
		if err != nil {
			return "", err
		}
		return string(abi.AppendReply(nil, page)), nil
	}
	return "", fmt.Errorf("%T is not a request", ask)
}

// Generators of random stores and requests. They draw from few values, so that requests
// often match.
var (
	agents = []string{"main", "ops", "dev-1", "dev-2"}
	rests  = []string{"main", "work", "cron:a", "cron:b", "hook:u", "node-1", "discord:group:1", "discord:channel:2:thread:3", "subagent:1", "subagent:2", "ann", "Bob", "global", "unknown"}
	labels = []string{"", "x", "X", "straße", "ÅNGSTRÖM", "a*b"}
	parts  = []string{"", "a", "A", "x", "ss", "Å", "å", "Å", "agent", ":", "main:c", "ſ", "*"}
	ids    = []string{"", "s1", "s2", "s3"}

	aKey = rapid.Custom(func(r *rapid.T) string {
		if key := rapid.SampledFrom([]string{"", "", "", "", "", "", "global", "unknown"}).Draw(r, "reserved"); key != "" {
			return key
		}
		return sessionkey.Join(rapid.SampledFrom(agents).Draw(r, "agent"), rapid.SampledFrom(rests).Draw(r, "rest"))
	})

	sessions = rapid.Custom(func(r *rapid.T) abi.Session {
		s := abi.Session{
			Key: aKey.Draw(r, "key"), SessionID: rapid.SampledFrom(ids).Draw(r, "sessionId"), UpdatedAt: rapid.Int64Range(0, 6).Draw(r, "updatedAt"),
			Label: rapid.SampledFrom(labels).Draw(r, "label"), Subject: rapid.SampledFrom(labels).Draw(r, "subject"), DisplayName: rapid.StringN(0, 4, 20).Draw(r, "displayName"),
			ArchivedAt: rapid.SampledFrom([]int64{0, 0, 5}).Draw(r, "archivedAt"),
		}
		if rapid.Bool().Draw(r, "child") {
			s.SpawnedBy = aKey.Draw(r, "spawnedBy")
		}
		if rapid.Bool().Draw(r, "counted") {
			s.TotalTokens = ptr(rapid.Int64Range(0, 9).Draw(r, "totalTokens"))
		}
		return s
	})

	roleNames = []string{"user", "assistant", "toolResult", "tool", "system"}

	messages = rapid.Custom(func(r *rapid.T) store.Message {
		role := rapid.SampledFrom(roleNames).Draw(r, "role")
		return store.Message{
			SourceID: rapid.SampledFrom([]string{"", "1", "2", "3", "4"}).Draw(r, "sourceId"), Role: role, At: rapid.Int64Range(0, 2).Draw(r, "at"),
			RunID: rapid.SampledFrom([]string{"", "r"}).Draw(r, "runId"),
			JSON:  fmt.Appendf(nil, `{"role":%q,"content":"%0*d"}`, role, rapid.IntRange(1, 60).Draw(r, "length"), rapid.IntRange(0, 9).Draw(r, "digit")),
		}
	})

	scopes = rapid.Custom(func(r *rapid.T) *abi.Scope {
		if rapid.IntRange(0, 2).Draw(r, "scoped") == 0 {
			return nil
		}
		s := &abi.Scope{
			Agents: rapid.SliceOfN(rapid.SampledFrom([]string{"main", "ops", "dev-*", "*", "*-2", "d*v*1", "m"}), 0, 2).Draw(r, "agents"),
			Keys:   rapid.SliceOfN(aKey, 0, 3).Draw(r, "keys"),
		}
		if rapid.Bool().Draw(r, "tree") {
			s.SpawnedBy = aKey.Draw(r, "spawnedBy")
		}
		return s
	})

	lists = rapid.Custom(func(r *rapid.T) request {
		l := &abi.ListRequest{
			Scope:           scopes.Draw(r, "scope"),
			Kinds:           rapid.SliceOfN(rapid.SampledFrom(sessionkey.Kinds), 0, 3).Draw(r, "kinds"),
			MainKey:         rapid.SampledFrom([]string{"", "", "work", "cron:a"}).Draw(r, "mainKey"),
			Global:          rapid.SampledFrom([]string{"", "", "", "main", "ops"}).Draw(r, "global"),
			AgentID:         rapid.SampledFrom([]string{"", "", "", "main", "ops", "none"}).Draw(r, "agentId"),
			Label:           rapid.SampledFrom(append(labels, "", "", "", "")).Draw(r, "label"),
			Search:          rapid.SampledFrom(append(parts, make([]string, len(parts))...)).Draw(r, "search"),
			ActiveSince:     rapid.SampledFrom([]int64{0, 0, 3, 6}).Draw(r, "activeSince"),
			IncludeArchived: rapid.Bool().Draw(r, "includeArchived"),
			Limit:           rapid.IntRange(1, 12).Draw(r, "limit"),
			Messages:        rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(r, "messages"),
			MaxBytes:        rapid.SampledFrom([]int{0, 0, 1, 300, 700, 1500}).Draw(r, "maxBytes"),
		}
		if rapid.IntRange(0, 3).Draw(r, "further") == 0 {
			l.After = &abi.Position{UpdatedAt: rapid.Int64Range(0, 6).Draw(r, "afterAt"), Key: aKey.Draw(r, "afterKey")}
		}
		return l
	})

	histories = rapid.Custom(func(r *rapid.T) request {
		return &abi.HistoryRequest{
			SessionKey:   aKey.Draw(r, "key"),
			Before:       rapid.Int64Range(0, 9).Draw(r, "before"),
			Skip:         rapid.IntRange(0, 4).Draw(r, "skip"),
			Limit:        rapid.IntRange(1, 6).Draw(r, "limit"),
			ExcludeRoles: rapid.OneOf(rapid.SliceOfN(rapid.SampledFrom(roleNames), 0, 3), rapid.Just(store.ToolResultRoles)).Draw(r, "excludeRoles"),
			MaxBytes:     rapid.SampledFrom([]int{0, 1, 150, 400}).Draw(r, "maxBytes"),
		}
	})

	requests = rapid.OneOf(lists, lists, lists, histories,
		rapid.Custom(func(r *rapid.T) request { return &abi.GetRequest{SessionKey: aKey.Draw(r, "key")} }),
		rapid.Custom(func(r *rapid.T) request {
			return &abi.ResolveRequest{SessionID: rapid.SampledFrom(ids).Draw(r, "id"), Scope: scopes.Draw(r, "scope"),
				MainKey: rapid.SampledFrom([]string{"", "work"}).Draw(r, "mainKey"), Global: rapid.SampledFrom([]string{"", "ops"}).Draw(r, "global")}
		}))
)
