package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store"
)

// TreeQuery selects sessions and their descendants.
type TreeQuery struct {
	// Key names one session: main, a session key in any form (S1), or a sessionId.
	// Empty: all trees of sessions with children, ordered by their newest child, newest
	// first.
	Key string
	// Limit is the maximum number of parents whose trees are returned, and of children of
	// each session (the newest ones); from 1 to abi.MaxListLimit, 0: 50.
	Limit int
}

// Tree holds sessions with their descendants.
type Tree struct {
	Roots []*TreeNode `json:"roots"`
	More  bool        `json:"more,omitempty"` // there are more parents than the limit
}

// TreeNode is one session of a Tree. A session that is not stored, because it was
// deleted or never imported, has only a key and children.
type TreeNode struct {
	Key         string `json:"key"`
	Missing     bool   `json:"missing,omitempty"` // not stored
	SessionID   string `json:"sessionId,omitempty"`
	Label       string `json:"label,omitempty"`
	Status      string `json:"status,omitempty"` // queued, or the session's status: running, done, failed, killed, timeout
	UpdatedAt   int64  `json:"updatedAt,omitempty"`
	ArchivedAt  int64  `json:"archivedAt,omitempty"`
	Model       string `json:"model,omitempty"` // model of the last run
	TotalTokens *int64 `json:"totalTokens,omitempty"`

	// Set if they are still stored: the run for which the session was spawned, and the
	// flow that spawned it. Report is the flow's error or status text.
	RunID      string `json:"runId,omitempty"`
	FlowID     string `json:"flowId,omitempty"`
	FlowStatus string `json:"flowStatus,omitempty"`
	Report     string `json:"report,omitempty"`

	Children []*TreeNode `json:"children,omitempty"` // newest first, including archived ones
	More     bool        `json:"more,omitempty"`     // the session has more children than the limit
}

const defaultTreeLimit = 50

// Tree returns sessions and their descendants. It fails with abi.InvalidArgs, or with
// abi.NotFound if the query's key names a session that is neither stored nor has
// children. Each session occurs once, even if imported data contains grandchildren
// or cycles.
func (h *Host) Tree(ctx context.Context, q *TreeQuery) (*Tree, error) {
	limit := cmp.Or(q.Limit, defaultTreeLimit)
	if limit < 1 || limit > abi.MaxListLimit {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("the limit of a tree is %d; it must be from 1 to %d", q.Limit, abi.MaxListLimit))
	}
	return readView(ctx, h, func(v store.View) (*Tree, error) {
		t := &treeBuilder{ctx: ctx, view: v, keys: h.Config().Keys(), limit: limit, included: map[string]bool{}}
		if q.Key != "" {
			return t.forKey(q.Key)
		}
		return t.newest()
	})
}

// treeBuilder builds a Tree from a view.
type treeBuilder struct {
	ctx      context.Context
	view     store.View
	keys     sessionkey.Settings
	limit    int
	included map[string]bool // sessions already in the tree
}

// newest builds the trees of the parents with the newest children.
func (t *treeBuilder) newest() (*Tree, error) {
	parents, err := t.view.Parents(t.ctx, t.limit+1)
	if err != nil {
		return nil, err
	}
	tree := &Tree{Roots: []*TreeNode{}, More: len(parents) > t.limit}
	for _, key := range parents[:min(len(parents), t.limit)] {
		if key, err = t.topAncestor(key); err != nil {
			return nil, err
		}
		if t.included[key] {
			continue
		}
		root, err := t.root(key)
		if err != nil {
			return nil, err
		}
		tree.Roots = append(tree.Roots, root)
	}
	return tree, nil
}

// topAncestor returns the topmost ancestor of a session; in a cycle, the session itself.
func (t *treeBuilder) topAncestor(key string) (string, error) {
	begin, seen := key, map[string]bool{}
	for {
		if seen[key] {
			return begin, nil
		}
		seen[key] = true
		s, err := t.view.Get(t.ctx, key)
		if err != nil || s == nil || s.SpawnedBy == "" {
			return key, err
		}
		key = s.SpawnedBy
	}
}

// forKey builds the tree of one session.
func (t *treeBuilder) forKey(text string) (*Tree, error) {
	key, err := t.resolve(text)
	if err != nil {
		return nil, err
	}
	root, err := t.root(key)
	if err != nil {
		return nil, err
	}
	if root.Missing && len(root.Children) == 0 {
		return nil, errNoSession(text)
	}
	return &Tree{Roots: []*TreeNode{root}}, nil
}

// resolve returns the canonical key of the session that text names for the operator
// (S1.5). The session need not be stored, because its children may be stored.
func (t *treeBuilder) resolve(text string) (string, error) {
	key, bad := t.keys.Canonical(text, t.keys.Agent())
	if sessionkey.HasKeyForm(text) {
		if bad != nil {
			return "", abi.NewError(abi.InvalidArgs, fmt.Sprintf("%q %v", clip(text), bad))
		}
		return key, nil
	}
	if bad == nil {
		if s, err := t.view.Get(t.ctx, key); err != nil || s != nil {
			return key, err
		}
	}
	s, err := t.view.Resolve(t.ctx, &abi.ResolveRequest{SessionID: text, MainKey: t.keys.MainKey, Global: t.global()})
	switch {
	case err != nil:
		return "", err
	case s != nil:
		return s.Key, nil
	case bad != nil:
		return "", errNoSession(text)
	}
	return key, nil
}

func errNoSession(text string) error {
	return abi.NewError(abi.NotFound, fmt.Sprintf("there is no session with the key or sessionId %q", clip(text)))
}

// global returns the agent that owns the session "global", or "" without global scope.
func (t *treeBuilder) global() string {
	if t.keys.GlobalScope {
		return t.keys.Agent()
	}
	return ""
}

// root builds the tree of a session.
func (t *treeBuilder) root(key string) (*TreeNode, error) {
	s, err := t.view.Get(t.ctx, key)
	if err != nil {
		return nil, err
	}
	if s == nil {
		t.included[key] = true
		n := &TreeNode{Key: displayKey(key), Missing: true}
		return n, t.addChildren(n, key)
	}
	return t.node(s)
}

// displayKey returns the key to display. The key of the global scope's one session is
// a reserved word (S1.3) and is displayed as "main".
func displayKey(key string) string {
	if key == sessionkey.Global {
		return sessionkey.Main
	}
	return key
}

func (t *treeBuilder) node(s *abi.Session) (*TreeNode, error) {
	t.included[s.Key] = true
	n := &TreeNode{
		Key: displayKey(s.Key), SessionID: s.SessionID, Label: s.Label, Status: s.Status,
		UpdatedAt: s.UpdatedAt, ArchivedAt: s.ArchivedAt, Model: s.Model, TotalTokens: s.TotalTokens,
	}
	if policy.Depth(s) > 0 {
		if err := t.addRunAndFlow(n, s.Key); err != nil {
			return nil, err
		}
	}
	return n, t.addChildren(n, s.Key)
}

// addChildren adds a session's children to its node.
func (t *treeBuilder) addChildren(n *TreeNode, key string) error {
	r := &abi.ListRequest{
		Scope: &abi.Scope{SpawnedBy: key}, IncludeArchived: true, MainKey: t.keys.MainKey, Global: t.global(),
	}
	for {
		r.Limit = t.limit - len(n.Children)
		page, err := t.view.List(t.ctx, r)
		if err != nil {
			return err
		}
		for i := range page.Rows {
			s := &page.Rows[i].Session
			r.After = &abi.Position{UpdatedAt: s.UpdatedAt, Key: s.Key}
			if t.included[s.Key] {
				continue
			}
			child, err := t.node(s)
			if err != nil {
				return err
			}
			n.Children = append(n.Children, child)
		}
		if n.More = page.More; !n.More || len(n.Children) == t.limit {
			return nil
		}
	}
}

// addRunAndFlow adds a spawned session's run and the flow that spawned it.
func (t *treeBuilder) addRunAndFlow(n *TreeNode, key string) error {
	r, err := t.spawnRun(key)
	if err != nil || r == nil {
		return err
	}
	if n.RunID = r.ID; r.Status == abi.RunQueued {
		n.Status = abi.RunQueued
	}
	if r.FlowID == "" {
		return nil
	}
	f, err := t.view.Flow(t.ctx, r.FlowID)
	if err != nil || f == nil {
		return err
	}
	n.FlowID, n.FlowStatus, n.Report = f.ID, f.Status, cmp.Or(f.Error, f.StatusText())
	return nil
}

// spawnRun searches the newest fewRuns runs of a session, then the newest manyRuns. The
// spawn run is nearly always the newest or second newest: only runs of messages sent to
// the session later are newer.
const (
	fewRuns  = 8
	manyRuns = 500
)

// spawnRun returns the run for which a session was spawned, or nil.
func (t *treeBuilder) spawnRun(key string) (*store.Run, error) {
	for _, limit := range []int{fewRuns, manyRuns} {
		runs, err := t.view.Runs(t.ctx, &store.Filter{SessionKey: key, Limit: limit})
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(runs, func(r *store.Run) bool { return r.Group == abi.GroupSubagent }); i >= 0 {
			return runs[i], nil
		}
		if len(runs) < limit {
			break
		}
	}
	return nil, nil
}
