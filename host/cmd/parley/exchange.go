package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// exchangeFlags are those of commands that call a tool which writes.
type exchangeFlags struct {
	CallID string `placeholder:"ID" help:"Name of this call: the same id with the same arguments joins it, or gets its answer."`
	Detach bool   `help:"Do not stay until the exchange is over: leave the rest to the next owner of the database."`
}

// exchange calls a tool that writes. The answer comes when it is there; what
// follows it, such as the turns of both agents and the announce, goes on in the
// owner of the database. When that is a process that ends by itself, such as this
// one, it and this one stay until the exchange is over. show prints the answer;
// failed says whether the exit code is that of a failure.
func (a *app) exchange(ctx context.Context, db *gateway.Database, call *host.Call, detach bool, show func(*host.Answer) error, failed func(*host.Answer) bool) error {
	answer, err := a.await(ctx, db, call)
	switch {
	case err != nil && ctx.Err() != nil:
		a.note("what was accepted goes on with the next owner of %s, such as parley serve; the answer is to be had with --call-id %s", db.Location(), call.ID)
		return err
	case err != nil:
		if refused, ok := errors.AsType[*abi.Error](err); !ok || refused.Code == abi.Internal {
			a.note("whether it was received is not known: the same command with --call-id %s gets the answer, and sends nothing twice", call.ID)
		}
		return callError(call.Tool, db.Tools(), err)
	}
	if err := show(answer); err != nil {
		return err
	}
	if answer.FlowID != "" && !db.Status().Stays {
		if err := a.stay(ctx, db, answer.FlowID, detach); err != nil {
			return err
		}
	}
	if failed(answer) {
		return errSilent // it has been said
	}
	return nil
}

// await calls the tool, and says so when that takes its time.
func (a *app) await(ctx context.Context, db *gateway.Database, call *host.Call) (answer *host.Answer, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = db.Call(ctx, call)
	}()
	select {
	case <-done:
	case <-time.After(gateway.Notice):
		a.note("waiting for the answer; call id %s", call.ID)
		<-done
	}
	return answer, err
}

// stay waits until the flow is over, and tells how it stands.
func (a *app) stay(ctx context.Context, db *gateway.Database, id string, detach bool) error {
	f, err := db.Flow(ctx, id)
	if err != nil || isOver(f) && detach {
		return err
	}
	if detach {
		db.Leave()
		a.leave(f)
		return nil
	}
	var over *store.Flow
	done := make(chan struct{})
	go func() {
		defer close(done)
		over, err = db.WaitFlow(ctx, id)
	}()
	tick := time.NewTicker(gateway.Notice)
	defer tick.Stop()
	for said := ""; ; {
		select {
		case <-done:
			return a.left(ctx, db, f, over, err)
		case <-tick.C:
		}
		if now, err := db.Flow(ctx, id); err == nil {
			f = now
		}
		if text := standing(f); text != said {
			a.note("%s", text)
			said = text
		}
	}
}

// isOver reports whether nobody needs to stay for what a flow has to do: it has
// ended, or waits for a time that may be far off. Its deliveries may be under way.
func isOver(f *store.Flow) bool { return f.Ended() || f.Resting() }

// standing says what a flow waits for.
func standing(f *store.Flow) string {
	text := terminal.Line(f.Standing())
	if isOver(f) {
		return "posting to the chat channel (" + text + ")"
	}
	return orElse(text, "waiting for the rest of the exchange")
}

// left says how a flow was left: over, parked, or in the middle because ctx ended.
func (a *app) left(ctx context.Context, db *gateway.Database, last, over *store.Flow, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		a.leave(last)
		return nil // its answer is there
	case err != nil:
		return fmt.Errorf("flow %s: %w", last.ID, err)
	case over.Status == store.FlowParked:
		return fmt.Errorf("flow %s is parked: %s: see parley flows show %s, and parley flows retry %s", over.ID, over.Error, over.ID, over.ID)
	case over.Note != "":
		a.note("%s", terminal.Line(over.Standing()))
	}
	return a.noteFailed(ctx, db, over.ID)
}

// noteFailed tells what of a flow did not reach its channel.
func (a *app) noteFailed(ctx context.Context, db *gateway.Database, id string) error {
	failed, err := db.Deliveries(ctx, &store.Filter{FlowID: id, Statuses: []string{store.DeliveryFailed, store.DeliverySkipped}})
	for _, d := range failed {
		a.note("delivery %s was %s: %s: parley deliveries resend %s", terminal.Line(d.ID), d.Status, terminal.Line(d.Error), terminal.Line(d.ID))
	}
	return err
}

func (a *app) leave(f *store.Flow) {
	a.note("flow %s is not over (%s); it goes on with the next owner of the database, such as parley serve", terminal.Line(f.ID), standing(f))
}

// writes reports whether a tool is one that changes something.
func writes(tools []abi.Tool, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return !t.ReadOnly
		}
	}
	return false
}
