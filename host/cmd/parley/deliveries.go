package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// deliveriesCmd holds what can be done with deliveries.
type deliveriesCmd struct {
	List   deliveriesListCmd `cmd:"" default:"withargs" help:"List deliveries, newest first (the default)."`
	Resend resendCmd         `cmd:"" help:"Post a delivery again that failed or was skipped."`
}

func (*deliveriesCmd) Help() string {
	return `A delivery is one text on its way to a chat channel. It is pending until it is delivered, skipped (there is nowhere to post it, or send policy forbids it) or failed (refused for good, or over delivery.maxAge). Ids may be shortened.

parley deliveries [--failed] [--limit N] lists them; see parley deliveries list --help.`
}

// deliveriesListCmd lists deliveries.
type deliveriesListCmd struct {
	Failed bool `help:"Only failed ones."`
	Limit  int  `short:"n" default:"50" placeholder:"N" help:"At most this many (default ${default})."`
}

// Validate checks the limit.
func (c *deliveriesListCmd) Validate() error { return checkLimit(c.Limit) }

// Run lists the deliveries.
func (c *deliveriesListCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		f := &store.Filter{Limit: c.Limit}
		if c.Failed {
			f.Statuses = []string{store.DeliveryFailed}
		}
		rows, err := db.Deliveries(ctx, f)
		if err != nil {
			return err
		}
		return showRows(a, db, "deliveries", rows, a.deliveriesTable)
	})
}

func deliveryID(d *store.Delivery) string { return d.ID }

func (a *app) deliveriesTable(rows []*store.Delivery, now time.Time) {
	short := shortIDs(idsOf(rows, deliveryID))
	cells := make([][]string, len(rows))
	for i, d := range rows {
		to := d.Target.Channel
		if d.Target.To != "" {
			to += ":" + d.Target.To
		}
		cells[i] = []string{
			terminal.Line(short[d.ID]), terminal.Line(d.SessionKey), terminal.Line(to), a.status(d.Status),
			strconv.Itoa(d.Attempts), age(now, d.CreatedAt), brief(orElse(d.Error, d.Text)),
		}
	}
	a.out.Table([]string{"DELIVERY", "SESSION", "TO", "STATUS", "ATTEMPTS", "AGE", "TEXT/ERROR"}, cells)
}

// resendCmd posts a delivery again.
type resendCmd struct{ idArg }

func (*resendCmd) Help() string {
	return "It is posted under the same idempotency key: a sink that honours the key drops what it has posted before."
}

// Run makes the delivery pending again.
func (c *resendCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		id, err := complete(ctx, c.ID, db.Deliveries, deliveryID)
		if err != nil {
			return err
		}
		err = db.ResendDelivery(ctx, id)
		if errors.Is(err, abi.NotFound) {
			return fmt.Errorf("%s: there is no such delivery: see parley deliveries", c.ID)
		}
		if err != nil {
			return err
		}
		if a.JSON {
			return a.printValue(map[string]any{"id": id, "status": store.DeliveryPending})
		}
		a.out.Println(terminal.Line("delivery " + id + " is pending again"))
		a.noteWork(db, false)
		return nil
	})
}
