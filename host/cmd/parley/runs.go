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

// runsCmd groups the commands for runs.
type runsCmd struct {
	List  runsListCmd `cmd:"" default:"withargs" help:"List runs, newest first (the default)."`
	Show  runShowCmd  `cmd:"" help:"Show a run with its message and answer."`
	Abort runAbortCmd `cmd:"" aliases:"kill" help:"Abort a run: a queued run never starts, and the agent of a running one is stopped."`
}

func (*runsCmd) Help() string {
	return `A run is one execution of an agent for one message. A run is queued behind the earlier runs of its session, then running, and in the end done, failed, killed (aborted) or timeout. A run whose process died is retried, up to runs.maxAttempts attempts in all. Ids may be shortened.

parley runs [--failed] [--session KEY] [--limit N] lists them; see parley runs list --help.`
}

// runs is the resource of the runs commands.
var runs = &resource[*store.Run]{
	plural: "runs", id: func(r *store.Run) string { return r.ID },
	list: (*gateway.Database).Runs, get: (*gateway.Database).Run, missing: "run: see parley runs",
	header: []string{"RUN", "SESSION", "STATUS", "GROUP", "ATTEMPT", "QUEUED", "TOOK", "REPLY/ERROR"},
	cells: func(a *app, r *store.Run, now time.Time) []string {
		return []string{
			terminal.Line(r.SessionKey), a.status(r.Status), terminal.Line(r.Group),
			strconv.Itoa(r.Attempt), age(now, r.QueuedAt), took(r, now), truncate(cmp.Or(r.Error, r.Reply)),
		}
	},
}

// runsListCmd lists runs.
type runsListCmd struct {
	Failed  bool   `help:"Only runs that failed, were aborted or reached their time limit."`
	Session string `placeholder:"KEY" help:"Only of this session: main, or a key."`
	limitFlag
}

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

// took formats the execution time of a run, up to now if the run has not ended.
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

// usageOf formats the known token counts.
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

// runAbortCmd aborts a run.
type runAbortCmd struct {
	idArg
	Why string `placeholder:"TEXT" help:"The reason, for callers that wait for the run (default: aborted by the operator)."`
}

func (*runAbortCmd) Help() string {
	return `A queued run never starts. If the run is executing, in this process or in another owner of the database, its agent is stopped (a command with every process that it has started) and its output is discarded. If the process that executed the run has died, the remaining processes of its agent are terminated.

The run ends with the status killed. Its session continues with the next run, and callers that wait for the run receive the reason. This command does not start other work: unless a long-running process such as parley serve owns the database, the next owner starts it. A run that has already ended is not changed, and the exit code is 1. parley runs kill is another name of this command.`
}

func (c *runAbortCmd) Run(ctx context.Context, a *app) error {
	return runs.with(ctx, a, c.ID, func(db *gateway.Database, r *store.Run) error {
		r, err := db.AbortRun(ctx, r.ID, c.Why)
		if err != nil {
			return err
		}
		what := "it was executing and its agent was stopped"
		if r.StartedAt == 0 {
			what = "it was queued and had not started"
		}
		err = a.show(map[string]any{"run": r}, func() { a.out.Println(terminal.Line("run "+r.ID+" was aborted") + ": " + what) })
		if err != nil || a.JSON {
			return err
		}
		return a.noteWaiting(ctx, db, r)
	})
}

// noteWaiting prints a note if a flow waits for the ended run r and no long-running process
// owns the database: the next owner continues the flow.
func (a *app) noteWaiting(ctx context.Context, db *gateway.Database, r *store.Run) error {
	if r.FlowID == "" || db.Status().LongRunning {
		return nil
	}
	f, err := db.Flow(ctx, r.FlowID)
	if errors.Is(err, abi.NotFound) {
		return nil
	}
	if err == nil && f.WaitRun == r.ID && !f.Ended() {
		a.note("flow %s waits for this run: it continues under the next owner of the database, such as parley serve", terminal.Line(f.ID))
	}
	return err
}
