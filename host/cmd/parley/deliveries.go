package main

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// deliveriesCmd groups the commands for deliveries.
type deliveriesCmd struct {
	List   deliveriesListCmd `cmd:"" default:"withargs" help:"List deliveries, newest first (the default)."`
	Resend resendCmd         `cmd:"" help:"Post a failed or skipped delivery again."`
}

func (*deliveriesCmd) Help() string {
	return `A delivery is one text to post to a chat channel. It is pending until it is delivered, skipped (it has no destination, or send policy forbids it) or failed (permanently refused, or older than delivery.maxAge). Ids may be shortened.

parley deliveries [--failed] [--limit N] lists them; see parley deliveries list --help.`
}

// deliveries is the resource of the deliveries commands. No command shows a single
// delivery, so get is not set.
var deliveries = &resource[*store.Delivery]{
	plural: "deliveries", id: func(d *store.Delivery) string { return d.ID },
	list: (*gateway.Database).Deliveries, missing: "delivery: see parley deliveries",
	header: []string{"DELIVERY", "SESSION", "TO", "STATUS", "ATTEMPTS", "AGE", "TEXT/ERROR"},
	cells: func(a *app, d *store.Delivery, now time.Time) []string {
		to := d.Target.Channel
		if d.Target.To != "" {
			to += ":" + d.Target.To
		}
		return []string{
			terminal.Line(d.SessionKey), terminal.Line(to), a.status(d.Status),
			strconv.Itoa(d.Attempts), age(now, d.CreatedAt), truncate(cmp.Or(d.Error, d.Text)),
		}
	},
}

// deliveriesListCmd lists deliveries.
type deliveriesListCmd struct {
	Failed bool `help:"Only failed deliveries."`
	limitFlag
}

func (c *deliveriesListCmd) Run(ctx context.Context, a *app) error {
	return deliveries.show(ctx, a, func(db *gateway.Database) ([]*store.Delivery, error) {
		f := &store.Filter{Limit: c.Limit}
		if c.Failed {
			f.Statuses = []string{store.DeliveryFailed}
		}
		return db.Deliveries(ctx, f)
	})
}

// resendCmd makes a failed or skipped delivery pending again.
type resendCmd struct{ idArg }

func (*resendCmd) Help() string {
	return "The delivery keeps its idempotency key: a sink that honours the key drops a text that it has posted before."
}

func (c *resendCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		id, err := deliveries.complete(ctx, db, c.ID)
		if err != nil {
			return err
		}
		if err := db.ResendDelivery(ctx, id); err != nil {
			return deliveries.notFound(c.ID, err)
		}
		return a.show(map[string]any{"id": id, "status": store.DeliveryPending}, func() {
			a.out.Println(terminal.Line("delivery " + id + " is pending again"))
			a.noteWork(db, false)
		})
	})
}
