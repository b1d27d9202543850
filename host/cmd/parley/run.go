package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// runShowCmd shows a run.
type runShowCmd struct{ idArg }

// Run shows the run.
func (c *runShowCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		r, err := runs.find(ctx, db, c.ID)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.printValue(map[string]any{"run": r})
		}
		a.run(r, time.Now())
		return nil
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
	fields := [][2]string{
		{"session", terminal.Line(r.SessionKey)}, {"status", a.status(r.Status)}, {"group", terminal.Line(r.Group)}, {"flow", terminal.Line(r.FlowID)},
		{"from", terminal.Line(r.Scope)}, {"attempt", attempt}, {"model", terminal.Line(orElse(r.UsedModel, r.Model))}, {"tokens", usageOf(r.Usage)},
		{"queued", date(r.QueuedAt)}, {"started", date(r.StartedAt)}, {"ended", date(r.EndedAt)}, {"took", took(r, now)},
		{"message", text(r.Message)}, {"error", text(r.Error)}, {"reply", text(r.Reply)},
	}
	a.out.Fields(slices.DeleteFunc(fields, func(f [2]string) bool { return f[1] == "" })...)
}

// usageOf writes counts of tokens, or "" when none is known.
func usageOf(u *abi.Usage) string {
	if u == nil {
		return ""
	}
	text := ""
	for _, count := range []struct {
		name string
		n    *int64
	}{{"in", u.Input}, {"out", u.Output}, {"total", u.Total}} {
		if count.n == nil {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += terminal.Count(*count.n) + " " + count.name
	}
	return text
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
	return a.with(ctx, func(db *gateway.Database) error {
		r, err := runs.find(ctx, db, c.ID)
		if err != nil {
			return err
		}
		if r, err = db.KillRun(ctx, r.ID, c.Why); err != nil {
			return err
		}
		if a.JSON {
			return a.printValue(map[string]any{"run": r})
		}
		what := "it was executing, and its agent is stopped"
		if r.StartedAt == 0 {
			what = "it was queued, and never began"
		}
		a.out.Println(terminal.Line("run "+r.ID+" is killed") + ": " + what)
		return a.noteWaiting(ctx, db, r)
	})
}

// noteWaiting says that the flow goes on that waits for a run which has ended,
// where nobody lets it yet.
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
