package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// durable returns the services, or abi.Unsupported if the store is not durable.
func (h *Host) durable() (*services, error) {
	if h.services == nil {
		return nil, abi.NewError(abi.Unsupported, "host: the store cannot keep flows and runs; it must be a store.Durable")
	}
	return h.services, nil
}

// readView calls ask with a view of the store.
func readView[T any](ctx context.Context, h *Host, ask func(store.View) (T, error)) (answer T, err error) {
	s, err := h.durable()
	if err != nil {
		return answer, err
	}
	view, err := s.store.View(ctx)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return ask(view)
}

// Flows lists flows, newest first.
func (h *Host) Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error) {
	return readView(ctx, h, func(v store.View) ([]*store.Flow, error) { return v.Flows(ctx, f) })
}

// Runs lists runs, newest first.
func (h *Host) Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error) {
	return readView(ctx, h, func(v store.View) ([]*store.Run, error) { return v.Runs(ctx, f) })
}

// Deliveries lists deliveries, newest first.
func (h *Host) Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error) {
	return readView(ctx, h, func(v store.View) ([]*store.Delivery, error) { return v.Deliveries(ctx, f) })
}

// Run returns a run, or abi.NotFound.
func (h *Host) Run(ctx context.Context, id string) (*store.Run, error) {
	r, err := readView(ctx, h, func(v store.View) (*store.Run, error) { return v.Run(ctx, id) })
	if err == nil && r == nil {
		err = abi.NewError(abi.NotFound, fmt.Sprintf("there is no run %q", clip(id)))
	}
	return r, err
}

// AbortRun aborts a run: it ends with the status "killed". reason is shown to callers that
// wait for the run (empty: a default reason). AbortRun returns the ended run. It fails
// with abi.NotFound, abi.InvalidArgs, or abi.Conflict if the run had already ended. A
// queued run never begins. An executing agent is stopped with its processes, and its
// answer is discarded. Flows and callers that wait for the run continue.
//
// A host that is not started can abort runs too: unless Options.Shared is set, AbortRun
// first takes over the work of previous processes.
func (h *Host) AbortRun(ctx context.Context, id, reason string) (*store.Run, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	reason = strings.TrimSpace(reason)
	if len(reason) > maxReason || !utf8.ValidString(reason) {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("the reason must be a text of at most %d bytes", maxReason))
	}
	if err := s.takeOver(ctx); err != nil {
		return nil, err
	}
	return s.runs.Abort(ctx, id, reason)
}

// maxReason bounds the reason for aborting a run, in bytes.
const maxReason = 1000

// StepDue reports whether the next step of any flow is due.
func (h *Host) StepDue(ctx context.Context) (bool, error) {
	return readView(ctx, h, func(v store.View) (bool, error) {
		due, err := v.Due(ctx, store.KindFlow)
		return len(due) > 0 && due[0].At <= h.options.Now().UnixMilli(), err
	})
}

// Flow returns a flow, or abi.NotFound.
func (h *Host) Flow(ctx context.Context, id string) (*store.Flow, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	return s.flows.Get(ctx, id)
}

// RetryFlow resumes a parked flow. It fails with abi.NotFound or abi.Conflict.
func (h *Host) RetryFlow(ctx context.Context, id string) error {
	s, err := h.durable()
	if err != nil {
		return err
	}
	return s.flows.Retry(ctx, id)
}

// DropFlow ends a flow. The runs and deliveries that the flow has queued stay. DropFlow
// fails with abi.NotFound or abi.Conflict.
func (h *Host) DropFlow(ctx context.Context, id string) error {
	s, err := h.durable()
	if err != nil {
		return err
	}
	return s.flows.Drop(ctx, id)
}

// ResendDelivery retries a failed or skipped delivery with the same idempotency key.
// It fails with abi.NotFound or abi.Conflict.
func (h *Host) ResendDelivery(ctx context.Context, id string) error {
	s, err := h.durable()
	if err != nil {
		return err
	}
	return s.outbox.Resend(ctx, id)
}

// WaitFlow waits until a flow and its deliveries have ended, or the flow is parked, and
// returns the flow. For an idle flow (store.Flow.Idle), WaitFlow waits only for the
// deliveries.
func (h *Host) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	if err := h.options.OnWait(); err != nil {
		return nil, err
	}
	f, err := s.flows.Wait(ctx, id)
	if err != nil {
		return nil, err
	}
	deliveries, err := h.Deliveries(ctx, &store.Filter{FlowID: id})
	for _, d := range deliveries {
		if _, err := s.outbox.Wait(ctx, d.ID); err != nil {
			return nil, err
		}
	}
	return f, err
}

// WaitRun waits until a run has ended or the timeout has passed, and returns the run.
// Only the session that started the run, its runs, and the operator may wait; any other
// caller gets abi.NotFound, as for a run that does not exist (S4.4, S0.1). A run that
// calls WaitRun releases its slot until the wait ends (S4.5). WaitRun returns early if
// the wait becomes a deadlock (S4.4) or the host closes.
func (h *Host) WaitRun(ctx context.Context, caller abi.Caller, id string, timeout time.Duration) (*store.Run, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	find := func() (*store.Run, error) {
		return readView(ctx, h, func(v store.View) (*store.Run, error) { return v.Run(ctx, id) })
	}
	r, err := find()
	by := caller.RunID
	caller.RunID = ""
	switch {
	case err != nil:
		return nil, err
	case r == nil, !caller.Operator && store.ScopeOf(&caller) != r.Scope:
		return nil, abi.NewError(abi.NotFound, fmt.Sprintf("there is no run %q that you have started", clip(id)))
	case r.Ended():
		return r, nil
	}
	if err := h.options.OnWait(); err != nil {
		return nil, err
	}
	if by != "" {
		defer s.runs.Suspend(by)()
	}
	for until := time.Now().Add(timeout); ; {
		pause := time.Until(until)
		if by != "" {
			deadlock, err := readView(ctx, h, func(v store.View) (bool, error) { return v.WouldBlock(ctx, r.SessionKey, by) })
			if err != nil || deadlock {
				return r, err
			}
			pause = min(pause, deadlockCheckInterval)
		}
		waiting, cancel := context.WithTimeout(ctx, pause)
		ended, err := s.runs.Wait(waiting, id)
		cancel()
		switch {
		case err == nil:
			return ended, nil
		case errors.Is(err, work.ErrClosing):
			return find()
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
		if r, err = find(); err != nil || !time.Now().Before(until) {
			return r, err
		}
	}
}

// deadlockCheckInterval is how often WaitRun checks whether the run that calls it would
// block. A wait in WaitRun is not stored, so the deadlock check of the other run cannot
// detect it.
const deadlockCheckInterval = time.Second

// Send accepts a message from a chat channel: the session's agent answers it, and the
// answer is delivered to the message's Target, or else to the session's last target.
// Without either, the delivery is skipped. Send fails with abi.InvalidArgs (the request
// is invalid, its session is archived, its agent is not configured, or its id belongs to
// another request) or abi.Forbidden (send policy, S8). After any other error the message
// may have been accepted; the caller may repeat it with the same RequestID.
func (h *Host) Send(ctx context.Context, m *Message) (*Accepted, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	if err := CheckCallID("the request id", m.RequestID); err != nil {
		return nil, err
	}
	accepted, err := s.chat.Send(ctx, m)
	return accepted, diskFull(err)
}

// StartAgent queues one run of a session's agent. It fails as Send does.
func (h *Host) StartAgent(ctx context.Context, r *AgentRequest) (*Accepted, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	if err := CheckCallID("the request id", r.RequestID); err != nil {
		return nil, err
	}
	accepted, err := s.chat.StartAgent(ctx, r)
	return accepted, diskFull(err)
}

// PatchSession changes a stored session's settings and returns the changed session. It
// fails with abi.InvalidArgs or abi.NotFound; any other error is from the store.
func (h *Host) PatchSession(ctx context.Context, p *SessionPatch) (*abi.Session, error) {
	s, err := h.durable()
	if err != nil {
		return nil, err
	}
	session, err := s.chat.Patch(ctx, p)
	return session, diskFull(err)
}

// Identify returns the caller that a run's token identifies, while its attempt is active.
func (h *Host) Identify(token string) (abi.Caller, bool) {
	if h.services == nil {
		return abi.Caller{}, false
	}
	return h.services.runs.Identify(token)
}
