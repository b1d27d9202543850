package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
)

// Failures of an Admission. Their texts are for the client.
var (
	ErrBusy    = errors.New("too many calls in progress; try again in a second")
	ErrClosing = errors.New("the gateway is stopping; accepted work continues: repeat the call with the same call id to get its answer")
)

// errGone is wrapped by the error of a request whose client has disconnected.
var errGone = errors.New("client disconnected")

// AdmissionOptions configures an Admission. With the zero value Identify refuses every
// request.
type AdmissionOptions struct {
	// Tokens are the credentials of clients; nil: no client is accepted.
	Tokens *Tokens
	// Trusted makes every client the operator, without credentials. It is for front ends
	// that only the user's own processes can reach.
	Trusted bool
	// Keys returns the current settings for session keys; required for As.
	Keys func() sessionkey.Settings
	// Bound is the maximum number of concurrent requests that do not wait; 0: no limit.
	Bound int
}

// Admission admits the requests of one front end. For each request the front end
// identifies the caller with Identify and As, calls Enter, makes its calls with
// Request.Call, and finally calls Request.Done. Classify returns the class of an error.
//
// A request may wait for an agent's answer for an hour, and the awaited work continues
// without the request. So a waiting request holds no slot, and Close cancels it; every
// other request may finish. A request is
//
//	working  after Enter and after Resume: it ends by itself. It holds a slot until its
//	         first wait.
//	waiting  between Suspend and Resume: Close cancels its context with the cause
//	         ErrClosing.
//
// An Admission is safe for concurrent use. The front end must call Close.
type Admission struct {
	tools   Tools
	options AdmissionOptions
	slots   chan struct{} // nil: no bound
	closing context.Context
	close   context.CancelFunc
}

// NewAdmission returns an Admission for a front end that calls tools.
func NewAdmission(tools Tools, o *AdmissionOptions) *Admission {
	a := &Admission{tools: tools}
	if o != nil {
		a.options = *o
	}
	if a.options.Tokens == nil {
		a.options.Tokens = &Tokens{}
	}
	if a.options.Bound > 0 {
		a.slots = make(chan struct{}, a.options.Bound)
	}
	a.closing, a.close = context.WithCancel(context.Background())
	return a
}

// Close cancels all waiting requests, and every later wait immediately.
func (a *Admission) Close() { a.close() }

// Identify returns the identity of an HTTP request's client. It fails with ErrMissing or
// ErrWrong.
func (a *Admission) Identify(r *http.Request) (*Identity, error) {
	if a.options.Trusted {
		return OperatorIdentity(), nil
	}
	return a.options.Tokens.Identify(r)
}

// As returns the caller of a request that names a session (Identity.As).
func (a *Admission) As(identity *Identity, session string) (abi.Caller, error) {
	return identity.As(session, a.options.Keys())
}

// Enter admits a request, or fails with ErrBusy. The caller must call Done.
func (a *Admission) Enter(ctx context.Context) (*Request, error) {
	r := &Request{admission: a}
	if a.slots != nil {
		select {
		case a.slots <- struct{}{}:
			r.slot = true
		default:
			return nil, ErrBusy
		}
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r, nil
}

// Request is an admitted request.
type Request struct {
	admission *Admission
	ctx       context.Context
	cancel    context.CancelCauseFunc

	mu   sync.Mutex
	slot bool
	stop func() bool // unregisters the cancellation by Close; nil while the request works
}

var _ host.Wait = (*Request)(nil)

// Context returns the request's context, derived from Enter's. Done cancels it, and so
// does Admission.Close while the request waits.
func (r *Request) Context() context.Context { return r.ctx }

// Call makes a tool call. It returns the errors of Tools, translated by Cause.
func (r *Request) Call(c *host.Call) (*host.Answer, error) {
	call := *c
	call.Wait = r
	answer, err := r.admission.tools.Call(r.ctx, &call)
	return answer, r.Cause(err)
}

// Await calls wait while the request counts as waiting. It returns wait's errors,
// translated by Cause.
func Await[T any](r *Request, wait func(ctx context.Context) (T, error)) (T, error) {
	r.Suspend()
	defer r.Resume()
	answer, err := wait(r.ctx)
	return answer, r.Cause(err)
}

// Cause returns the reason why a request failed with err: ErrClosing if Admission.Close
// cancelled the request; an error of class Gone, which wraps the context's error, if the
// client disconnected; otherwise err.
func (r *Request) Cause(err error) error {
	switch {
	case err == nil || r.ctx.Err() == nil:
		return err
	case context.Cause(r.ctx) == ErrClosing:
		return ErrClosing
	}
	return fmt.Errorf("%w: %w", errGone, r.ctx.Err())
}

// Suspend marks the request as waiting.
func (r *Request) Suspend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		r.leave()
		r.stop = context.AfterFunc(r.admission.closing, func() { r.cancel(ErrClosing) })
	}
}

// Resume marks the request as working again.
func (r *Request) Resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// Done ends the request and its context.
func (r *Request) Done() {
	r.Resume()
	r.mu.Lock()
	r.leave()
	r.mu.Unlock()
	r.cancel(context.Canceled)
}

// leave releases the slot. The caller must hold mu.
func (r *Request) leave() {
	if r.slot {
		<-r.admission.slots
		r.slot = false
	}
}
