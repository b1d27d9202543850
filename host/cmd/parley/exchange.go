package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// exchangeFlags are those of commands that call a tool for an agent or a person.
type exchangeFlags struct {
	CallID string `placeholder:"ID" help:"Name of this call: the same id with the same arguments joins it, or gets its answer."`
	Detach bool   `help:"Do not stay until the exchange is over: leave the rest to the next owner of the database."`
	callerFlags
}

// Validate checks the call's id.
func (f *exchangeFlags) Validate() error { return host.CheckCallID("--call-id", f.CallID) }

// exchange calls a tool. The answer comes when it is there; what follows that of a tool
// that writes, such as the turns of both agents and the announce, goes on in the
// owner of the database. When that is a process that ends by itself, such as this
// one, it and this one stay until the exchange is over. show prints the answer and
// reports whether the exit code is that of a success.
func (f *exchangeFlags) exchange(ctx context.Context, a *app, tool string, args []byte, show func(*host.Answer) (ok bool, err error)) error {
	return a.with(ctx, func(db *gateway.Database) error {
		caller, err := f.caller(db.Keys())
		if err != nil {
			return err
		}
		call := &host.Call{Tool: tool, Args: args, Caller: caller, ID: cmp.Or(f.CallID, rand.Text())}
		answer, err := a.await(ctx, db, call)
		if err != nil {
			return err
		}
		ok, err := show(answer)
		if err == nil && answer.FlowID != "" && !db.Status().Stays {
			err = a.stay(ctx, db, answer.FlowID, f.Detach)
		}
		if err == nil && !ok {
			err = errSilent // it has been said
		}
		return err
	})
}

// await calls the tool. It reports a call that takes long, and the outcome of a call that
// writes and got no answer.
func (a *app) await(ctx context.Context, db *gateway.Database, call *host.Call) (answer *host.Answer, err error) {
	writes := slices.ContainsFunc(db.Tools(), func(t abi.Tool) bool { return t.Name == call.Tool && !t.ReadOnly })
	during(func() { answer, err = db.Call(ctx, call) }, sync.OnceFunc(func() {
		if writes {
			a.note("waiting for the answer; call id %s", call.ID)
		}
	}))
	switch {
	case err == nil:
		return answer, nil
	case writes && ctx.Err() != nil:
		a.note("what was accepted goes on with the next owner of %s, such as parley serve; the answer is to be had with --call-id %s", db.Location(), call.ID)
		return nil, err
	case writes:
		if refused, ok := errors.AsType[*abi.Error](err); !ok || refused.Code == abi.Internal {
			a.note("whether it was received is not known: the same command with --call-id %s gets the answer, and sends nothing twice", call.ID)
		}
	}
	return nil, callError(call.Tool, db.Tools(), err)
}

// during runs work, and calls tell after each Notice until work has ended.
func during(work, tell func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	tick := time.NewTicker(gateway.Notice)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			tell()
		}
	}
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
	said := ""
	during(func() { over, err = db.WaitFlow(ctx, id) }, func() {
		if now, err := db.Flow(ctx, id); err == nil {
			f = now
		}
		if text := standing(f); text != said {
			a.note("%s", text)
			said = text
		}
	})
	return a.left(ctx, db, f, over, err)
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
	return cmp.Or(text, "waiting for the rest of the exchange")
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
