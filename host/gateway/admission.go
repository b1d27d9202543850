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
	ErrBusy    = errors.New("too many calls are under way; try again in a second")
	ErrClosing = errors.New("the gateway is stopping and waits no longer; what was accepted goes on: call again with the same call id to get the answer")
)

// errGone is among the causes of the error of a request whose client has gone.
var errGone = errors.New("the client has gone")

// AdmissionOptions say whom an Admission lets in. With the zero value Identify refuses
// every request.
type AdmissionOptions struct {
	// Tokens are the credentials of clients; nil: there are none.
	Tokens *Tokens
	// Trusted makes every client the operator, without credentials: for a front end that
	// only the user's own processes can reach.
	Trusted bool
	// Keys gives the settings of session keys in force; required for As.
	Keys func() sessionkey.Settings
	// Bound is how many requests may be under way at once, but for those that wait;
	// 0: any number.
	Bound int
}

// Admission lets the requests of one front end in. For each one the front end asks
// Identify and As who calls, enters it, makes its calls with Request.Call, and calls
// Request.Done at its end; the class of an error is Classify's.
//
// A request may wait for an hour, for an agent's answer, and what it waits for goes on
// without it. So a request that waits takes no slot among those under way, and Close
// cuts it off, while every other request may end. A request is
//
//	working  from Enter on: it has a slot and ends by itself
//	waiting  between Suspend and Resume: Close ends its context, with ErrClosing as the
//	         cause. Its slot is given back for good when it waits for the first time.
//
// An Admission is safe for concurrent use. The front end that makes one closes it.
type Admission struct {
	tools   Tools
	options AdmissionOptions
	slots   chan struct{} // nil: no bound
	closing context.Context
	close   context.CancelFunc
}

// NewAdmission returns the admission of a front end to the tools.
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

// Close cuts off the requests that wait, and every later wait at once.
func (a *Admission) Close() { a.close() }

// Identify returns who sends an HTTP request. It fails with ErrMissing or ErrWrong.
func (a *Admission) Identify(r *http.Request) (*Identity, error) {
	if a.options.Trusted {
		return OperatorIdentity(), nil
	}
	return a.options.Tokens.Identify(r)
}

// As returns the caller of a request that names a session (Identity.As).
func (a *Admission) As(who *Identity, session string) (abi.Caller, error) {
	return who.As(session, a.options.Keys())
}

// Enter lets a request in, or fails with ErrBusy. The caller must call Done.
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

// Request is a request that was let in.
type Request struct {
	admission *Admission
	ctx       context.Context
	cancel    context.CancelCauseFunc

	mu   sync.Mutex
	slot bool
	stop func() bool // of the cut-off; nil while the request works
}

var _ host.Wait = (*Request)(nil)

// Context returns the request's context: that of Enter, until Done or the cut-off.
func (r *Request) Context() context.Context { return r.ctx }

// Call makes a tool call. Its errors are those of Tools, and as of Ended.
func (r *Request) Call(c *host.Call) (*host.Answer, error) {
	call := *c
	call.Wait = r
	answer, err := r.admission.tools.Call(r.ctx, &call)
	return answer, r.Ended(err)
}

// Await lets a request wait for what wait returns. Its errors are as of Ended.
func Await[T any](r *Request, wait func(ctx context.Context) (T, error)) (T, error) {
	r.Suspend()
	defer r.Resume()
	answer, err := wait(r.ctx)
	return answer, r.Ended(err)
}

// Ended returns why a request failed with err: ErrClosing when it was cut off, an
// error of class Gone with the context's error as its cause when its client has gone.
func (r *Request) Ended(err error) error {
	switch {
	case err == nil || r.ctx.Err() == nil:
		return err
	case context.Cause(r.ctx) == ErrClosing:
		return ErrClosing
	}
	return fmt.Errorf("%w: %w", errGone, r.ctx.Err())
}

// Suspend says that the request begins to wait.
func (r *Request) Suspend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		r.leave()
		r.stop = context.AfterFunc(r.admission.closing, func() { r.cancel(ErrClosing) })
	}
}

// Resume says that the request waits no longer.
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

// leave gives the slot back. mu is held.
func (r *Request) leave() {
	if r.slot {
		<-r.admission.slots
		r.slot = false
	}
}
