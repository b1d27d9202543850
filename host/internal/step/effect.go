package step

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/store"
)

// effect is a write that a step asked for and that was found possible.
type effect interface {
	// apply carries it out, or fails with abi.Conflict when it has become
	// impossible since.
	apply(tx store.Tx) error
}

// freeWait is no write: it finds out whether the calling run can still wait for a
// session. Two sends that cross, each decided before the other was on disk, would
// else wait for each other (S4.4).
type freeWait struct{ session, run string }

func (w *freeWait) apply(tx store.Tx) error {
	waits, err := tx.Waits(w.session, w.run)
	if err == nil && waits {
		err = abi.NewError(abi.Conflict, "step: what runs in session "+w.session+" waits for the caller by now")
	}
	return err
}

// record checks a write and keeps it.
func (f *functions) record(ctx context.Context, r *request) ([]byte, error) {
	name := r.family + "." + r.op
	switch {
	case f.flow == nil:
		return nil, abi.NewError(abi.Forbidden, name+": a read-only tool may not write")
	case len(f.effects) == abi.MaxEffects:
		return nil, abi.NewError(abi.Limit, fmt.Sprintf("%s: a step may record %d effects", name, abi.MaxEffects))
	}
	if err := f.within(name); err != nil {
		return nil, err
	}
	switch name {
	case abi.ImportStore + "." + abi.OpCreate:
		return f.create(ctx, r)
	case abi.ImportStore + "." + abi.OpArchive, abi.ImportStore + "." + abi.OpDelete:
		return f.tidy(ctx, r)
	case abi.ImportAgent + "." + abi.OpRun:
		return f.run(ctx, r)
	case abi.ImportDeliver + "." + abi.OpSend:
		return f.send(ctx, r)
	}
	return nil, abi.NewError(abi.Unsupported, r.family+": this host does not know the operation "+r.op)
}

// within fails when the step asks for more of an effect than it may: a plugin that
// does is out of hand, and nothing it asked for is to happen.
func (f *functions) within(name string) error {
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

// newID returns the id of what the next effect creates. It is the same when the
// step is tried again.
func (f *functions) newID(prefix string) string {
	return store.DeriveID(f.runner.Store.(store.Durable).Secret(), prefix, f.flow.ID, fmt.Sprint(f.flow.Step), fmt.Sprint(len(f.effects)))
}

// newUUID is newID in the form of a UUID; what tells the ids of one effect apart.
func (f *functions) newUUID(what string) string {
	return store.DeriveUUID(f.runner.Store.(store.Durable).Secret(), what, f.flow.ID, fmt.Sprint(f.flow.Step), fmt.Sprint(len(f.effects)))
}

// party reports whether the session takes part in the flow: it is the caller's,
// or the flow has started a run in it.
func (f *functions) party(key string) bool {
	return key == f.flow.Caller.SessionKey || slices.Contains(f.flow.Sessions, key) ||
		slices.ContainsFunc(f.effects, func(e effect) bool {
			r, ok := e.(*runEffect)
			return ok && r.run.SessionKey == key
		})
}
