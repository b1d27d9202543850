package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// hostWithSessions returns a host over a database with sessions and the rows that more
// adds. Each line of sessions is "key parent updatedAt", with "-" for no parent.
func hostWithSessions(t *testing.T, settings string, sessions string, more func(store.Tx) error) *host.Host {
	t.Helper()
	db := openTestDB(t, dbPath(t))
	err := db.Update(t.Context(), func(tx store.Tx) error {
		for line := range strings.Lines(sessions) {
			s := &abi.Session{}
			if _, err := fmt.Sscan(line, &s.Key, &s.SpawnedBy, &s.UpdatedAt); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			s.SpawnedBy = strings.TrimPrefix(s.SpawnedBy, "-")
			s.SessionID = "id of " + s.Key
			if err := tx.PutSession(s); err != nil {
				return err
			}
		}
		if more == nil {
			return nil
		}
		return more(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return newHost(t, db, settings, nil)
}

// formatTree formats a tree as text: one line per session, indented below its parent.
func formatTree(tree *host.Tree) string {
	var b strings.Builder
	var draw func(nodes []*host.TreeNode, indent string)
	draw = func(nodes []*host.TreeNode, indent string) {
		for _, n := range nodes {
			b.WriteString(indent + n.Key)
			if n.Missing {
				b.WriteString(" missing")
			}
			if n.More {
				b.WriteString(" more")
			}
			b.WriteString("\n")
			draw(n.Children, indent+"  ")
		}
	}
	draw(tree.Roots, "")
	if tree.More {
		b.WriteString("more\n")
	}
	return b.String()
}

const treeSessions = `agent:main:main - 100
agent:main:subagent:1 agent:main:main 10
agent:ops:subagent:2 agent:main:main 30
agent:ops:subagent:3 agent:main:gone 40
agent:ops:subagent:4 agent:ops:subagent:2 35
agent:main:subagent:5 agent:main:a 20
agent:main:x agent:main:y 6
agent:main:y agent:main:z 7
agent:main:z agent:main:x 8
agent:main:self agent:main:self 5`

func TestTree(t *testing.T) {
	t.Parallel()
	h := hostWithSessions(t, openSettings, treeSessions, nil)
	const gone = "agent:main:gone missing\n  agent:ops:subagent:3\n"
	const mains = "agent:main:main\n  agent:ops:subagent:2\n    agent:ops:subagent:4\n  agent:main:subagent:1\n"
	const circle = "agent:main:x\n  agent:main:z\n    agent:main:y\n"
	for _, tt := range []struct {
		q    host.TreeQuery
		want string
	}{
		{host.TreeQuery{}, gone + mains + "agent:main:a\n  agent:main:subagent:5\n" + circle + "agent:main:self\n"},
		{host.TreeQuery{Limit: 2}, gone + mains + "more\n"},
		{host.TreeQuery{Limit: 1}, gone + "more\n"},
		{host.TreeQuery{Key: "main"}, mains},
		{host.TreeQuery{Key: "main", Limit: 1}, "agent:main:main more\n  agent:ops:subagent:2\n    agent:ops:subagent:4\n"},
		{host.TreeQuery{Key: "agent:main:main"}, mains},
		{host.TreeQuery{Key: "id of agent:main:main"}, mains},
		{host.TreeQuery{Key: "agent:ops:subagent:2"}, "agent:ops:subagent:2\n  agent:ops:subagent:4\n"},
		{host.TreeQuery{Key: "subagent:1"}, "agent:main:subagent:1\n"},
		{host.TreeQuery{Key: "agent:main:gone"}, gone},
		{host.TreeQuery{Key: "gone"}, gone},
		{host.TreeQuery{Key: "z"}, "agent:main:z\n  agent:main:y\n    agent:main:x\n"},
		{host.TreeQuery{Key: "self"}, "agent:main:self\n"},
		{host.TreeQuery{Key: "b"}, "agent:main:b\n"},
	} {
		tree, err := h.Tree(t.Context(), &tt.q)
		if err != nil {
			t.Errorf("%+v: %v", tt.q, err)
			continue
		}
		if d := cmp.Diff(tt.want, formatTree(tree)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.q, d)
		}
	}
	for _, tt := range []struct {
		q    host.TreeQuery
		code abi.Code
	}{
		{host.TreeQuery{Key: "none"}, abi.NotFound}, {host.TreeQuery{Key: "agent:main:none"}, abi.NotFound}, {host.TreeQuery{Key: "global"}, abi.NotFound},
		{host.TreeQuery{Key: "current"}, abi.InvalidArgs}, {host.TreeQuery{Key: "agent:../x:y"}, abi.InvalidArgs}, {host.TreeQuery{Key: "a\x00"}, abi.NotFound},
		{host.TreeQuery{Limit: -1}, abi.InvalidArgs}, {host.TreeQuery{Limit: abi.MaxListLimit + 1}, abi.InvalidArgs},
	} {
		if tree, err := h.Tree(t.Context(), &tt.q); tree != nil || !errors.Is(err, tt.code) {
			t.Errorf("%+v: %v, %v; want %s", tt.q, tree, err, tt.code)
		}
	}
}

// With global scope, the tree of "main" is that of the session "global".
func TestTreeGlobalScope(t *testing.T) {
	t.Parallel()
	h := hostWithSessions(t, `{session: {scope: "global"}}`, "global - 9\nagent:main:subagent:1 global 8\nagent:main:subagent:2 agent:main:main 7", nil)
	for _, key := range []string{"main", "agent:main:main"} {
		tree, err := h.Tree(t.Context(), &host.TreeQuery{Key: key})
		if err != nil || formatTree(tree) != "main\n  agent:main:subagent:1\n" {
			t.Errorf("%s: %v, %v", key, tree, err)
		}
	}
}

// A child's node combines its session, the run for which it was spawned, and the flow
// that spawned it.
func TestTreeNodeFields(t *testing.T) {
	t.Parallel()
	tokens := int64(1200)
	const child, waits, bare = "agent:main:subagent:1", "agent:main:subagent:2", "agent:main:subagent:3"
	run := func(id, key, group, status, flow string, at int64) *store.Run {
		return &store.Run{ID: id, SessionKey: key, Group: group, Status: status, FlowID: flow, QueuedAt: at}
	}
	h := hostWithSessions(t, openSettings, "agent:main:main - 9", func(tx store.Tx) error {
		errs := []error{
			tx.PutSession(&abi.Session{Key: child, SessionID: "s1", SpawnedBy: "agent:main:main", UpdatedAt: 8, Status: "done", Label: "look", Model: "small", TotalTokens: &tokens, ArchivedAt: 9}),
			tx.PutSession(&abi.Session{Key: waits, SpawnedBy: "agent:main:main", UpdatedAt: 7}),
			tx.PutSession(&abi.Session{Key: bare, SpawnedBy: "agent:main:main", UpdatedAt: 6, Status: "running"}),
			tx.PutFlow(&store.Flow{ID: "f1", Call: store.CallKey{ID: "1"}, Status: store.FlowWaiting, AnsweredAt: 1, WaitUntil: 99, Note: "announced", Delivery: "delivered"}),
			tx.PutFlow(&store.Flow{ID: "f2", Call: store.CallKey{ID: "2"}, Status: store.FlowParked, Note: "waiting", Error: "step 2: it trapped"}),
			tx.PutFlow(&store.Flow{ID: "other", Call: store.CallKey{ID: "3"}, Note: "not this one"}),
			tx.PutRun(run("r1", child, abi.GroupSubagent, abi.RunDone, "f1", 1)),
			tx.PutRun(run("r2", waits, abi.GroupSubagent, abi.RunQueued, "f2", 1)),
			tx.PutRun(run("r3", bare, abi.GroupNested, abi.RunQueued, "other", 1)),
		}
		for i := range int64(20) { // messages sent to the child later
			errs = append(errs, tx.PutRun(run(fmt.Sprint("later", i), child, abi.GroupNested, abi.RunQueued, "other", 2+i)))
		}
		return errors.Join(errs...)
	})
	tree, err := h.Tree(t.Context(), &host.TreeQuery{Key: "main"})
	if err != nil {
		t.Fatal(err)
	}
	want := []*host.TreeNode{
		{Key: child, SessionID: "s1", Label: "look", Status: "done", UpdatedAt: 8, ArchivedAt: 9, Model: "small", TotalTokens: &tokens,
			RunID: "r1", FlowID: "f1", FlowStatus: "waiting", Report: "announced: delivered"},
		{Key: waits, Status: "queued", UpdatedAt: 7, RunID: "r2", FlowID: "f2", FlowStatus: "parked", Report: "step 2: it trapped"},
		{Key: bare, Status: "running", UpdatedAt: 6},
	}
	if d := cmp.Diff(want, tree.Roots[0].Children); d != "" {
		t.Error(d)
	}
	empty, err := newHost(t, openTestDB(t, dbPath(t)), openSettings, nil).Tree(t.Context(), &host.TreeQuery{})
	if doc, _ := json.Marshal(empty); err != nil || string(doc) != `{"roots":[]}` {
		t.Errorf("an empty tree: %s, %v", doc, err)
	}
}
