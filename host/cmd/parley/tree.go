package main

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// treeCmd shows sessions with the sessions that they have spawned.
type treeCmd struct {
	Key   string `arg:"" optional:"" help:"Session: main, a key, or a sessionId; default: every session that has spawned one."`
	Limit int    `short:"n" default:"50" placeholder:"N" help:"At most this many trees, and this many children of each session, the newest first (default ${default})."`
}

func (*treeCmd) Help() string {
	return `A session spawns child sessions for tasks, with the tool sessions_spawn, and receives a report of each result. The tree shows each child with its status (queued: not started yet), its model, its tokens, and the state of its report. Sessions are listed newest first, including archived ones. --json also prints the id of each child's flow, for parley flows show.

parley runs abort ID aborts the run of a child; its parent receives a report that it was killed.`
}

func (c *treeCmd) Validate() error {
	if c.Limit < 1 || c.Limit > abi.MaxListLimit {
		return fmt.Errorf("--limit %d: give a number from 1 to %d", c.Limit, abi.MaxListLimit)
	}
	return nil
}

func (c *treeCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		tree, err := db.Tree(ctx, &host.TreeQuery{Key: c.Key, Limit: c.Limit})
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.printValue(tree)
		case len(tree.Roots) == 0:
			a.note("no session has spawned another in %s", db.Location())
			return nil
		}
		switch more := a.treeTable(tree, time.Now()); {
		case more && c.Limit < abi.MaxListLimit:
			a.note("there are more: show them with --limit %d", min(2*c.Limit, abi.MaxListLimit))
		case more && c.Key == "":
			a.note("there are more: show those of one session with parley tree KEY")
		}
		return nil
	})
}

// treeTable prints a tree, and reports whether some sessions were left out.
func (a *app) treeTable(tree *host.Tree, now time.Time) (more bool) {
	t := treeRows{app: a, now: now}
	for _, root := range tree.Roots {
		t.add(root, "", "")
	}
	a.out.Table([]string{"SESSION", "STATUS", "UPDATED", "MODEL", "TOKENS", "REPORT"}, t.cells)
	return tree.More || t.more
}

// treeRows collects the rows of a table of trees.
type treeRows struct {
	*app
	now   time.Time
	cells [][]string
	more  bool // some children were left out
}

// add adds a session and its descendants. lead is the prefix of the session's line, below
// the prefix of its descendants' lines.
func (t *treeRows) add(n *host.TreeNode, lead, below string) {
	name := terminal.Line(n.Key)
	if n.Label != "" { // before the key, which may be truncated
		name = truncate(n.Label) + "  " + name
	}
	updated := ""
	if !n.Missing {
		updated = age(t.now, n.UpdatedAt)
	}
	t.cells = append(t.cells, []string{lead + name, t.state(n), updated, terminal.Line(n.Model), count(n.TotalTokens), truncate(n.Report)})
	t.more = t.more || n.More
	for i, child := range n.Children {
		if i < len(n.Children)-1 || n.More {
			t.add(child, below+"├─ ", below+"│  ")
		} else {
			t.add(child, below+"└─ ", below+"   ")
		}
	}
	if n.More {
		t.cells = append(t.cells, []string{below + "└─ …", "", "", "", "", ""})
	}
}

// state formats the session's status, and whether it is archived or missing.
func (t *treeRows) state(n *host.TreeNode) string {
	switch {
	case n.Missing:
		return "(not stored)"
	case n.ArchivedAt == 0:
		return t.status(n.Status)
	case n.Status == "":
		return "(archived)"
	}
	return t.status(n.Status) + " (archived)"
}

// count formats a number, or returns "" for nil, an unknown number.
func count(n *int64) string {
	if n == nil {
		return ""
	}
	return terminal.Count(*n)
}
