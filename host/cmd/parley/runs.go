package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
			strconv.Itoa(r.Attempt), age(now, r.QueuedAt), took(r, now), brief(cmp.Or(r.Error, r.Reply)),
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

// runShowCmd shows a run.
type runShowCmd struct{ idArg }

// Run shows the run.
func (c *runShowCmd) Run(ctx context.Context, a *app) error {
	return runs.with(ctx, a, c.ID, func(_ *gateway.Database, r *store.Run) error {
		return a.show(map[string]any{"run": r}, func() { a.run(r, time.Now()) })
	})
}

// run prints a run's fields.
func (a *app) run(r *store.Run, now time.Time) {
	a.out.Println(a.out.Bold(terminal.Line("run " + r.ID)))
	text := func(s string) string { return a.out.Fit(terminal.Line(s), 16) }
	attempt := ""
	if r.Attempt > 0 {
		attempt = strconv.Itoa(r.Attempt)
	}
	a.out.Fields([][2]string{
		{"session", terminal.Line(r.SessionKey)}, {"status", a.status(r.Status)}, {"group", terminal.Line(r.Group)}, {"flow", terminal.Line(r.FlowID)},
		{"from", terminal.Line(r.Scope)}, {"attempt", attempt}, {"model", terminal.Line(cmp.Or(r.UsedModel, r.Model))}, {"tokens", usageOf(r.Usage)},
		{"queued", date(r.QueuedAt)}, {"started", date(r.StartedAt)}, {"ended", date(r.EndedAt)}, {"took", took(r, now)},
		{"message", text(r.Message)}, {"error", text(r.Error)}, {"reply", text(r.Reply)},
	}...)
}

// usageOf writes counts of tokens, or "" when none is known.
func usageOf(u *abi.Usage) string {
	if u == nil {
		return ""
	}
	var counts []string
	for i, n := range []*int64{u.Input, u.Output, u.Total} {
		if n != nil {
			counts = append(counts, terminal.Count(*n)+[]string{" in", " out", " total"}[i])
		}
	}
	return strings.Join(counts, ", ")
}

// runKillCmd kills a run.
type runKillCmd struct {
	idArg
	Why string `placeholder:"TEXT" help:"The reason, for whoever waits for the run (default: aborted by the operator)."`
}

func (*runKillCmd) Help() string {
	return `A queued run never begins. Of one that is executing, here or in another process that owns the database, the agent is stopped, a command with every process that it has started, and what it may have answered does not count. Where the process that executed it is dead, what is left of the agent is ended.

The run ends as killed. Its session goes on with the next run, and whoever waits for it reads the reason. Nothing else is begun: without an owner that stays, such as parley serve, the rest goes on with the next one. A run that has ended already stays as it is; the exit code is 1 then.`
}

// Run kills the run.
func (c *runKillCmd) Run(ctx context.Context, a *app) error {
	return runs.with(ctx, a, c.ID, func(db *gateway.Database, r *store.Run) error {
		r, err := db.KillRun(ctx, r.ID, c.Why)
		if err != nil {
			return err
		}
		what := "it was executing, and its agent is stopped"
		if r.StartedAt == 0 {
			what = "it was queued, and never began"
		}
		err = a.show(map[string]any{"run": r}, func() { a.out.Println(terminal.Line("run "+r.ID+" is killed") + ": " + what) })
		if err != nil || a.JSON {
			return err
		}
		return a.noteWaiting(ctx, db, r)
	})
}

// noteWaiting reports that the flow of an ended run resumes later, when no process runs
// the database's work now.
func (a *app) noteWaiting(ctx context.Context, db *gateway.Database, r *store.Run) error {
	if r.FlowID == "" || db.Status().Stays {
		return nil
	}
	f, err := db.Flow(ctx, r.FlowID)
	if errors.Is(err, abi.NotFound) {
		return nil
	}
	if err == nil && f.WaitRun == r.ID && !f.Ended() {
		a.note("flow %s waits for this run: it goes on with the next owner of the database, such as parley serve", terminal.Line(f.ID))
	}
	return err
}
