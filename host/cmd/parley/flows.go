package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// flowsCmd groups the commands for flows.
type flowsCmd struct {
	List  flowsListCmd `cmd:"" default:"withargs" help:"List flows, newest first (the default)."`
	Show  flowShowCmd  `cmd:"" help:"Show a flow with its runs and deliveries."`
	Retry flowRetryCmd `cmd:"" help:"Retry the failed step of a parked flow."`
	Drop  flowDropCmd  `cmd:"" help:"End a flow: no further step is executed."`
}

func (*flowsCmd) Help() string {
	return `A flow executes one call of a tool that writes, such as sessions_send, in steps: those up to the answer and those that follow. A flow is waiting while it needs runs of agents, idle when only a later step is left (such as archiving a child an hour after its end), parked when one of its steps has failed twice or it has reached the step limit, and in the end done or dropped. Ids may be shortened.

parley flows [--failed | --all] [--limit N] lists them; see parley flows list --help.`
}

// flows is the resource of the flows commands.
var flows = &resource[*store.Flow]{
	plural: "flows", id: func(f *store.Flow) string { return f.ID },
	list: (*gateway.Database).Flows, get: (*gateway.Database).Flow, missing: "flow: see parley flows --all",
	header: []string{"FLOW", "TOOL", "STATUS", "FROM", "STEP", "AGE", "NOTE"},
	cells: func(a *app, f *store.Flow, now time.Time) []string {
		return []string{
			terminal.Line(f.Tool), a.status(flowStatus(f)), terminal.Line(callerName(&f.Caller)),
			strconv.Itoa(f.Step), age(now, f.AcceptedAt), truncate(cmp.Or(f.Error, f.StatusText())),
		}
	},
}

// flowsListCmd lists flows.
type flowsListCmd struct {
	Failed bool `xor:"which" help:"Only parked flows, which need retry or drop."`
	All    bool `xor:"which" help:"Also ended flows of any age."`
	limitFlag
}

func (*flowsListCmd) Help() string {
	return "Without --failed and --all: the flows that have not ended, and those that were accepted in the last 24 hours."
}

// recent is the maximum age, since acceptance, of ended flows in the list.
const recent = 24 * time.Hour

func (c *flowsListCmd) Run(ctx context.Context, a *app) error {
	return flows.show(ctx, a, func(db *gateway.Database) ([]*store.Flow, error) { return c.list(ctx, db, time.Now()) })
}

// list queries open and recently ended flows separately: many new flows must not push an
// old open one beyond the limit.
func (c *flowsListCmd) list(ctx context.Context, db *gateway.Database, now time.Time) ([]*store.Flow, error) {
	open := store.Filter{Statuses: []string{store.FlowWaiting, store.FlowParked}, Limit: c.Limit}
	switch {
	case c.Failed:
		open.Statuses = []string{store.FlowParked}
		return db.Flows(ctx, &open)
	case c.All:
		return db.Flows(ctx, &store.Filter{Limit: c.Limit})
	}
	rows, errOpen := db.Flows(ctx, &open)
	ended, errEnded := db.Flows(ctx, &store.Filter{
		Statuses: []string{store.FlowDone, store.FlowDropped}, Since: now.Add(-recent).UnixMilli(), Limit: c.Limit,
	})
	if err := cmp.Or(errOpen, errEnded); err != nil {
		return nil, err
	}
	rows = append(rows, ended...)
	slices.SortStableFunc(rows, func(a, b *store.Flow) int { return cmp.Compare(b.AcceptedAt, a.AcceptedAt) })
	return rows[:min(len(rows), c.Limit)], nil
}

// flowStatus returns the flow's status, or "idle" for a waiting flow that is idle.
func flowStatus(f *store.Flow) string {
	if f.Idle() {
		return "idle"
	}
	return f.Status
}

func callerName(c *abi.Caller) string {
	if c.Operator {
		return "operator"
	}
	return c.SessionKey
}

// flowShowCmd shows a flow.
type flowShowCmd struct{ idArg }

func (c *flowShowCmd) Run(ctx context.Context, a *app) error {
	return flows.with(ctx, a, c.ID, func(db *gateway.Database, f *store.Flow) error {
		of := &store.Filter{FlowID: f.ID, Limit: maxSearch}
		itsRuns, errRuns := db.Runs(ctx, of)
		itsDeliveries, errDeliveries := db.Deliveries(ctx, of)
		if err := cmp.Or(errRuns, errDeliveries); err != nil {
			return err
		}
		return a.show(map[string]any{"flow": f, "runs": orEmpty(itsRuns), "deliveries": orEmpty(itsDeliveries)}, func() {
			a.flow(f)
			runs.section(a, itsRuns)
			deliveries.section(a, itsDeliveries)
		})
	})
}

// flow prints a flow's fields.
func (a *app) flow(f *store.Flow) {
	a.out.Println(a.out.Bold(terminal.Line("flow " + f.ID)))
	a.out.Fields([][2]string{
		{"tool", terminal.Line(f.Tool)}, {"status", a.status(flowStatus(f))}, {"from", terminal.Line(callerName(&f.Caller))},
		{"call id", terminal.Line(f.Call.ID)}, {"steps", strconv.Itoa(f.Step)}, {"plugin", terminal.Line(f.Plugin)},
		{"accepted", date(f.AcceptedAt)}, {"answered", date(f.AnsweredAt)}, {"ended", date(f.EndedAt)},
		{"waits for", terminal.Line(f.WaitRun)}, {"waits until", date(f.WaitUntil)},
		{"note", terminal.Line(f.StatusText())}, {"error", terminal.Line(f.Error)}, {"answer", a.out.Fit(terminal.Line(string(f.Answer)), 16)},
	}...)
}

// flowRetryCmd retries a parked flow.
type flowRetryCmd struct{ idArg }

func (c *flowRetryCmd) Run(ctx context.Context, a *app) error {
	return changeFlow(ctx, a, c.ID, (*gateway.Database).RetryFlow, "will be retried")
}

// flowDropCmd drops a flow.
type flowDropCmd struct{ idArg }

func (*flowDropCmd) Help() string {
	return "Runs and deliveries that the flow has queued remain. Callers that wait for its answer receive an error."
}

func (c *flowDropCmd) Run(ctx context.Context, a *app) error {
	return changeFlow(ctx, a, c.ID, (*gateway.Database).DropFlow, "was dropped")
}

// changeFlow applies an operation to a flow and prints the result.
func changeFlow(ctx context.Context, a *app, id string, change func(*gateway.Database, context.Context, string) error, done string) error {
	return flows.with(ctx, a, id, func(db *gateway.Database, f *store.Flow) error {
		if err := change(db, ctx, f.ID); err != nil {
			return err
		}
		f, err := db.Flow(ctx, f.ID)
		if err != nil {
			return err
		}
		return a.show(map[string]any{"flow": f}, func() {
			a.out.Println(terminal.Line("flow " + f.ID + " " + done))
			a.noteWork(db, f.Ended())
		})
	})
}

// noteWork prints a note if the operation has left work (ended is false) and the owner is
// not a long-running process.
func (a *app) noteWork(db *gateway.Database, ended bool) {
	if !ended && !db.Status().LongRunning {
		a.note("no process executes the work of this database now: it continues under the next owner, such as parley serve")
	}
}
