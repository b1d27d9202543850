package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// runsCmd holds what can be done with runs.
type runsCmd struct {
	List runsListCmd `cmd:"" default:"withargs" help:"List runs, newest first (the default)."`
	Show runShowCmd  `cmd:"" help:"Show a run with its message and answer."`
	Kill runKillCmd  `cmd:"" help:"End a run: it never begins, or its agent is stopped."`
}

func (*runsCmd) Help() string {
	return `A run is one answer of an agent to one message. It is queued behind the runs of its session, runs, and ends as done, failed, killed or timeout. A run whose process died is tried again, at most runs.maxAttempts times in all. Ids may be shortened.

parley runs [--failed] [--session KEY] [--limit N] lists them; see parley runs list --help.`
}

// runs are what runs have in common.
var runs = &kind[*store.Run]{
	plural: "runs", id: func(r *store.Run) string { return r.ID },
	list: (*gateway.Database).Runs, get: (*gateway.Database).Run, none: "run: see parley runs",
	header: []string{"RUN", "SESSION", "STATUS", "GROUP", "ATTEMPT", "QUEUED", "TOOK", "REPLY/ERROR"},
	cells: func(a *app, r *store.Run, now time.Time) []string {
		return []string{
			terminal.Line(r.SessionKey), a.status(r.Status), terminal.Line(r.Group),
			strconv.Itoa(r.Attempt), age(now, r.QueuedAt), took(r, now), brief(orElse(r.Error, r.Reply)),
		}
	},
}

// runsListCmd lists runs.
type runsListCmd struct {
	Failed  bool   `help:"Only those that failed, were killed or took too long."`
	Session string `placeholder:"KEY" help:"Only of this session: main, or a key."`
	limitFlag
}

// Run lists the runs.
func (c *runsListCmd) Run(ctx context.Context, a *app) error {
	return runs.show(ctx, a, func(db *gateway.Database) ([]*store.Run, error) {
		f := &store.Filter{Limit: c.Limit}
		if c.Failed {
			f.Statuses = []string{abi.RunFailed, abi.RunKilled, abi.RunTimeout}
		}
		if c.Session != "" {
			keys := db.Keys()
			var err error
			if f.SessionKey, err = keys.Canonical(c.Session, keys.Agent()); err != nil {
				return nil, usage(fmt.Errorf("--session %s: the key %w", c.Session, err))
			}
		}
		return db.Runs(ctx, f)
	})
}

// took is how long a run has been, or was, executed.
func took(r *store.Run, now time.Time) string {
	end := r.EndedAt
	switch {
	case r.StartedAt == 0:
		return ""
	case end == 0:
		end = now.UnixMilli()
	}
	d := time.Duration(max(end-r.StartedAt, 0)) * time.Millisecond
	if d >= time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}
