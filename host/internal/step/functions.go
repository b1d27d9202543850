package step

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/store"
)

// functions implements the host functions of one step. It lives as long as the step
// and is not safe for concurrent use.
type functions struct {
	runner   *Runner
	plugin   Plugin
	flow     *Flow // nil in a read-only tool
	snapshot store.Snapshot
	durable  store.View // the snapshot, if the store is durable; otherwise nil
	effects  []effect
	checks   []effect // answers to the plugin that must still hold at the commit; they write nothing
	calls    []HostCall
	// hostErr is a failure of the host itself. It fails the step, whatever the plugin
	// returns.
	hostErr error
}

var _ engine.HostFunctions = (*functions)(nil)

// Call serves one call of a host function. A refused request gets an error as its
// reply. A failure of the host, or a request beyond the step's limits, ends the step.
func (f *functions) Call(ctx context.Context, namespace string, doc []byte) ([]byte, error) {
	reply, err := f.serve(ctx, namespace, doc)
	if over, ok := errors.AsType[*engine.Error](err); ok {
		return nil, over
	}
	if err != nil {
		code, text := errText(err)
		if code == abi.Internal {
			f.hostErr = err
			return nil, err
		}
		reply = abi.AppendError(nil, code, text)
	}
	if f.runner.Observe != nil {
		f.calls = append(f.calls, HostCall{Namespace: namespace, Request: append([]byte(nil), doc...), Reply: reply})
	}
	return reply, nil
}

func (f *functions) serve(ctx context.Context, namespace string, doc []byte) ([]byte, error) {
	r, err := parseRequest(namespace, doc)
	if err != nil {
		return nil, err
	}
	name := namespace + "." + r.op
	if slices.Contains(abi.Capabilities, name) {
		if err := f.plugin.Grants(name); err != nil {
			return nil, err
		}
	}
	if abi.IsWrite(namespace, r.op) {
		return f.record(ctx, r)
	}
	switch name {
	case abi.ImportStore + "." + abi.OpGet:
		return read(ctx, f, r, (*request).get, store.Snapshot.Get, sessionReply)
	case abi.ImportStore + "." + abi.OpResolve:
		return read(ctx, f, r, (*request).resolve, store.Snapshot.Resolve, sessionReply)
	case abi.ImportStore + "." + abi.OpList:
		return read(ctx, f, r, (*request).list, store.Snapshot.List, listReply)
	case abi.ImportStore + "." + abi.OpHistory:
		return read(ctx, f, r, (*request).history, store.Snapshot.History, historyReply)
	case abi.ImportAgent + "." + abi.OpStatus:
		return f.status(ctx, r)
	case abi.ImportAgent + "." + abi.OpWaits:
		return f.waits(ctx, r)
	}
	return nil, abi.NewError(abi.Unsupported, namespace+": this host does not know the operation "+r.op)
}

// read decodes a request, queries the step's snapshot, and encodes the reply.
func read[Q, A any](
	ctx context.Context, f *functions, r *request,
	decode func(*request) (Q, error),
	ask func(store.Snapshot, context.Context, Q) (A, error),
	reply func([]byte, A) []byte,
) ([]byte, error) {
	q, err := decode(r)
	if err != nil {
		return nil, err
	}
	view, err := f.view(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := ask(view, ctx, q)
	if err != nil {
		return nil, err
	}
	return reply(nil, answer), nil
}

func sessionReply(b []byte, s *abi.Session) []byte {
	return abi.AppendReply(b, &abi.SessionReply{Session: s})
}

func listReply(b []byte, page *abi.ListPage) []byte {
	for i := range page.Rows {
		shorten(page.Rows[i].Messages)
	}
	return abi.AppendReply(b, page)
}

func historyReply(b []byte, page *abi.HistoryPage) []byte {
	shorten(page.Messages)
	return abi.AppendReply(b, page)
}

// view returns the step's snapshot for a read by the plugin. Such reads must precede
// all writes.
func (f *functions) view(ctx context.Context) (store.Snapshot, error) {
	if len(f.effects) > 0 {
		return nil, abi.NewError(abi.Conflict, "a step reads before it writes, not after")
	}
	return f.openSnapshot(ctx)
}

// openSnapshot returns the step's snapshot for the host's own queries, which may come
// at any time.
func (f *functions) openSnapshot(ctx context.Context) (_ store.Snapshot, err error) {
	if f.snapshot != nil {
		return f.snapshot, nil
	}
	if s, ok := f.runner.Store.(store.Durable); ok {
		f.durable, err = s.View(ctx)
		if err == nil {
			f.snapshot = f.durable
		}
	} else {
		f.snapshot, err = f.runner.Store.Snapshot(ctx)
	}
	return f.snapshot, err
}

func (f *functions) close() {
	if f.snapshot == nil {
		return
	}
	if err := f.snapshot.Close(); err != nil {
		f.runner.Logger.Warn("step: close snapshot", "error", err)
	}
}

// status returns a run's status. A store that is not durable has no runs.
func (f *functions) status(ctx context.Context, r *request) ([]byte, error) {
	id, err := r.status()
	if err != nil {
		return nil, err
	}
	if _, err := f.view(ctx); err != nil || f.durable == nil {
		return abi.AppendReply(nil, &abi.StatusReply{}), err
	}
	run, err := f.durable.Run(ctx, id)
	if err != nil || run == nil {
		return abi.AppendReply(nil, &abi.StatusReply{}), err
	}
	return abi.AppendReply(nil, &abi.StatusReply{Run: run.ABI()}), nil
}

// waits reports whether waiting for a session would deadlock, because a run there
// waits for the calling run (S4.4).
func (f *functions) waits(ctx context.Context, r *request) ([]byte, error) {
	key, err := r.waits()
	if err != nil {
		return nil, err
	}
	if _, err := f.view(ctx); err != nil {
		return nil, err
	}
	if f.durable == nil || f.flow == nil || f.flow.Caller.RunID == "" {
		return abi.AppendReply(nil, &abi.WaitsReply{Waits: new(false)}), nil
	}
	waits, err := f.durable.WouldBlock(ctx, key, f.flow.Caller.RunID)
	if err == nil && !waits {
		f.checks = append(f.checks, &deadlockCheck{key, f.flow.Caller.RunID})
	}
	return abi.AppendReply(nil, &abi.WaitsReply{Waits: &waits}), err
}

// shorten truncates messages that the store has not truncated, so that a huge message
// never enters the guest.
func shorten(ms []abi.Message) {
	for i := range ms {
		if m := &ms[i]; len(m.Truncations) == 0 && len(m.JSON) > abi.MaxString {
			m.JSON, m.Truncations = message.Shorten(m.JSON)
		}
	}
}
