package step

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/store"
)

// effect is a write that a step requested and that its snapshot allowed.
type effect interface {
	// apply executes the write, or returns abi.Conflict when it is no longer
	// possible.
	apply(tx store.Tx) error
}

// deadlockCheck writes nothing. It repeats the deadlock check of agent.waits for the
// calling run and a session. Otherwise two runs that send to each other's sessions,
// each checked before the other is committed, would wait for each other (S4.4).
type deadlockCheck struct{ session, run string }

func (w *deadlockCheck) apply(tx store.Tx) error {
	waits, err := tx.WouldBlock(w.session, w.run)
	if err == nil && waits {
		err = abi.NewError(abi.Conflict, "step: a run of session "+w.session+" is waiting for the caller")
	}
	return err
}

// record checks a write and records it as an effect.
func (f *functions) record(ctx context.Context, r *request) ([]byte, error) {
	name := r.namespace + "." + r.op
	switch {
	case f.flow == nil:
		return nil, abi.NewError(abi.Forbidden, name+": a read-only tool may not write")
	case len(f.effects) == abi.MaxEffects:
		return nil, abi.NewError(abi.Limit, fmt.Sprintf("%s: a step may record %d effects", name, abi.MaxEffects))
	}
	if err := f.checkLimits(name); err != nil {
		return nil, err
	}
	switch name {
	case abi.ImportStore + "." + abi.OpCreate:
		return f.create(ctx, r)
	case abi.ImportStore + "." + abi.OpArchive, abi.ImportStore + "." + abi.OpDelete:
		return f.remove(ctx, r)
	case abi.ImportAgent + "." + abi.OpRun:
		return f.run(ctx, r)
	case abi.ImportDeliver + "." + abi.OpSend:
		return f.send(ctx, r)
	}
	return nil, abi.NewError(abi.Unsupported, r.namespace+": this host does not know the operation "+r.op)
}

// checkLimits returns an error when the next effect would exceed a limit. The error
// ends the step, so none of its requests is executed.
func (f *functions) checkLimits(name string) error {
	limits := f.runner.Limits.Effective()
	switch name {
	case abi.ImportAgent + "." + abi.OpRun:
		if count[*runEffect](f.effects) == limits.Runs {
			return &engine.Error{Kind: engine.Runs, Message: fmt.Sprintf("the step queues more than %d runs", limits.Runs)}
		}
	case abi.ImportDeliver + "." + abi.OpSend:
		if count[*sendEffect](f.effects) == limits.Deliveries {
			return &engine.Error{Kind: engine.Deliveries, Message: fmt.Sprintf("the step queues more than %d deliveries", limits.Deliveries)}
		}
	}
	return nil
}

func count[E effect](all []effect) (n int) {
	for _, e := range all {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

// newID returns the id of the row that the next effect creates. A retried step
// produces the same id.
func (f *functions) newID(prefix string) string {
	return store.DeriveID(f.runner.Store.(store.Durable).Secret(), prefix, f.flow.ID, fmt.Sprint(f.flow.Step), fmt.Sprint(len(f.effects)))
}

// newUUID is like newID but returns a UUID. purpose distinguishes the ids of one
// effect.
func (f *functions) newUUID(purpose string) string {
	return store.DeriveUUID(f.runner.Store.(store.Durable).Secret(), purpose, f.flow.ID, fmt.Sprint(f.flow.Step), fmt.Sprint(len(f.effects)))
}

// isParticipant reports whether the session takes part in the flow: it is the
// caller's, or the flow has started a run in it.
func (f *functions) isParticipant(key string) bool {
	return key == f.flow.Caller.SessionKey || slices.Contains(f.flow.Sessions, key) ||
		slices.ContainsFunc(f.effects, func(e effect) bool {
			r, ok := e.(*runEffect)
			return ok && r.run.SessionKey == key
		})
}
