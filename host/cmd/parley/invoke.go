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

// invokeFlags are the flags of commands that call a tool as a given caller.
type invokeFlags struct {
	CallID string `placeholder:"ID" help:"Idempotency key: a repeated call with the same id and arguments returns the answer of the first call, and waits for it if necessary."`
	Detach bool   `help:"Do not wait until the flow has finished: the next owner of the database continues it."`
	callerFlags
}

// Validate checks the call id.
func (f *invokeFlags) Validate() error { return host.CheckCallID("--call-id", f.CallID) }

// invoke calls a tool and passes the answer to show, which must print the answer and report
// whether the tool succeeded. The owner of the database continues the flow of a tool that
// writes after the answer, for example with the replies of both agents to each other. If
// the owner is not a long-running process, the owner and this process wait until the flow
// has finished.
func (f *invokeFlags) invoke(ctx context.Context, a *app, tool string, args []byte, show func(*host.Answer) (ok bool, err error)) error {
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
		if err == nil && answer.FlowID != "" && !db.Status().LongRunning {
			err = a.waitFinished(ctx, db, answer.FlowID, f.Detach)
		}
		if err == nil && !ok {
			err = errSilent // show has printed the result
		}
		return err
	})
}

// await calls the tool and returns its answer. For a tool that writes, it prints a note if
// the answer takes longer than gateway.NoticeDelay, and after a failure a note about how to
// get the answer.
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
		a.note("an accepted call continues under the next owner of %s, such as parley serve: repeat the command with --call-id %s to get the answer", db.Location(), call.ID)
		return nil, err
	case writes:
		if refused, ok := errors.AsType[*abi.Error](err); !ok || refused.Code == abi.Internal {
			a.note("the call may have been received: repeat the command with --call-id %s to get the answer; nothing is sent twice", call.ID)
		}
	}
	return nil, callError(call.Tool, db.Tools(), err)
}

// during calls work, and calls tick at intervals of gateway.NoticeDelay until work returns.
func during(work, tick func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	ticker := time.NewTicker(gateway.NoticeDelay)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			tick()
		}
	}
}

// waitFinished prints the flow's status until the flow has finished. With detach it does
// not wait.
func (a *app) waitFinished(ctx context.Context, db *gateway.Database, id string, detach bool) error {
	f, err := db.Flow(ctx, id)
	if err != nil || finished(f) && detach {
		return err
	}
	if detach {
		db.Leave()
		a.noteUnfinished(f)
		return nil
	}
	var last *store.Flow
	printed := ""
	during(func() { last, err = db.WaitFlow(ctx, id) }, func() {
		if now, err := db.Flow(ctx, id); err == nil {
			f = now
		}
		if text := progress(f); text != printed {
			a.note("%s", text)
			printed = text
		}
	})
	return a.reportEnd(ctx, db, f, last, err)
}

// finished reports whether the flow has ended or is idle. Commands do not wait for an idle
// flow, because its next step may be due much later. Deliveries of a finished flow may
// still be pending.
func finished(f *store.Flow) bool { return f.Ended() || f.Idle() }

// progress describes what the flow is waiting for.
func progress(f *store.Flow) string {
	text := terminal.Line(f.StatusText())
	if finished(f) {
		return "posting to the chat channel (" + text + ")"
	}
	return cmp.Or(text, "waiting for the rest of the flow")
}

// reportEnd prints the outcome of the wait for a flow: finished, parked, or not finished
// because ctx ended. seen is the flow as read before the end of the wait; last and err are
// the result of the wait.
func (a *app) reportEnd(ctx context.Context, db *gateway.Database, seen, last *store.Flow, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		a.noteUnfinished(seen)
		return nil // the answer has been printed
	case err != nil:
		return fmt.Errorf("flow %s: %w", seen.ID, err)
	case last.Status == store.FlowParked:
		return fmt.Errorf("flow %s is parked: %s: see parley flows show %s, and parley flows retry %s", last.ID, last.Error, last.ID, last.ID)
	case last.Note != "":
		a.note("%s", terminal.Line(last.StatusText()))
	}
	return a.noteUndelivered(ctx, db, last.ID)
}

// noteUndelivered prints the failed and skipped deliveries of a flow.
func (a *app) noteUndelivered(ctx context.Context, db *gateway.Database, id string) error {
	failed, err := db.Deliveries(ctx, &store.Filter{FlowID: id, Statuses: []string{store.DeliveryFailed, store.DeliverySkipped}})
	for _, d := range failed {
		a.note("delivery %s was %s: %s: parley deliveries resend %s", terminal.Line(d.ID), d.Status, terminal.Line(d.Error), terminal.Line(d.ID))
	}
	return err
}

func (a *app) noteUnfinished(f *store.Flow) {
	a.note("flow %s has not finished (%s): it continues under the next owner of the database, such as parley serve", terminal.Line(f.ID), progress(f))
}
