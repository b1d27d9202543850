package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// enter admits a request until the end of the test.
func enter(t *testing.T, a *Admission, ctx context.Context) *Request {
	t.Helper()
	r, err := a.Enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Done)
	return r
}

func cancelledByClose(r *Request) bool { return context.Cause(r.Context()) == ErrClosing }

func TestCloseCancelsOnlyWaitingRequests(t *testing.T) {
	a := NewAdmission(nil, &AdmissionOptions{Bound: 3})
	working, waiting, resumed := enter(t, a, t.Context()), enter(t, a, t.Context()), enter(t, a, t.Context())
	waiting.Suspend()
	waiting.Suspend()
	if len(a.slots) != 2 {
		t.Errorf("%d slots are taken with one waiting request", len(a.slots))
	}
	resumed.Suspend()
	resumed.Resume()
	if len(a.slots) != 1 {
		t.Errorf("%d slots are taken with one waiting and one resumed request", len(a.slots))
	}

	a.Close()
	<-waiting.Context().Done()
	if !cancelledByClose(waiting) || waiting.Cause(context.Canceled) != ErrClosing || waiting.Cause(nil) != nil {
		t.Errorf("the wait ended with %v", context.Cause(waiting.Context()))
	}
	for name, r := range map[string]*Request{"working": working, "resumed": resumed} {
		if r.Context().Err() != nil {
			t.Errorf("%s: %v", name, context.Cause(r.Context()))
		}
	}
	working.Suspend()
	<-working.Context().Done()
	if !cancelledByClose(working) {
		t.Errorf("a wait after Close: %v", context.Cause(working.Context()))
	}
	for _, r := range []*Request{working, waiting, resumed} {
		r.Done()
		r.Done()
	}
	if len(a.slots) != 0 {
		t.Errorf("%d slots are still taken", len(a.slots))
	}
}

func TestClientDisconnects(t *testing.T) {
	a := NewAdmission(nil, nil)
	defer a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r := enter(t, a, ctx)
	r.Suspend()
	cancel()
	<-r.Context().Done()
	err := r.Cause(errors.New("cancelled"))
	if class, _ := Classify(err); cancelledByClose(r) || class != Gone || !errors.Is(err, context.Canceled) {
		t.Errorf("after a disconnect: %v, class %d", err, class)
	}
}

// The gateway's own deadline does not count as a disconnect: the client receives an
// answer, and the error is logged for the operator.
func TestGatewayDeadline(t *testing.T) {
	a := NewAdmission(nil, nil)
	defer a.Close()
	r := enter(t, a, t.Context())
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		if class, _ := Classify(r.Cause(fmt.Errorf("store: %w", err))); class != Internal {
			t.Errorf("%v with a connected client has class %d", err, class)
		}
	}
}

func TestDone(t *testing.T) {
	a := NewAdmission(nil, nil)
	r := enter(t, a, t.Context())
	r.Suspend()
	r.Done()
	a.Close()
	if r.Context().Err() == nil || cancelledByClose(r) {
		t.Errorf("after Done: %v", context.Cause(r.Context()))
	}
}

func TestBound(t *testing.T) {
	a := NewAdmission(nil, &AdmissionOptions{Bound: 1})
	first := enter(t, a, t.Context())
	if _, err := a.Enter(t.Context()); err != ErrBusy {
		t.Errorf("with one working request: %v", err)
	}
	first.Suspend()
	second := enter(t, a, t.Context())
	first.Resume()
	first.Done()
	if _, err := a.Enter(t.Context()); err != ErrBusy {
		t.Errorf("with the second request: %v", err)
	}
	second.Done()
	enter(t, a, t.Context())
}

type nilTools = Tools // an embedded field named Tools would hide the method

// waitingTools is Tools whose only call waits until it is cancelled.
type waitingTools struct {
	nilTools
	waiting chan struct{}
}

func (w *waitingTools) Call(ctx context.Context, c *host.Call) (*host.Answer, error) {
	c.Wait.Suspend()
	defer c.Wait.Resume()
	close(w.waiting)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Close cancels waiting calls and all other waits. Call does not change its argument.
func TestCloseCancelsWaitingCalls(t *testing.T) {
	w := &waitingTools{waiting: make(chan struct{})}
	a := NewAdmission(w, nil)
	r := enter(t, a, t.Context())
	go func() {
		<-w.waiting
		a.Close()
	}()
	call := &host.Call{}
	if _, err := r.Call(call); err != ErrClosing || call.Wait != nil {
		t.Errorf("the call ended with %v", err)
	}
	if _, err := Await(enter(t, a, t.Context()), func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }); err != ErrClosing {
		t.Errorf("a later wait ended with %v", err)
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err   error
		class Class
		text  string
		level slog.Level
	}{
		{abi.NewError(abi.InvalidArgs, "x"), Invalid, "x", slog.LevelInfo},
		{fmt.Errorf("at: %w", abi.NewError(abi.Forbidden, "x")), Forbidden, "x", slog.LevelInfo},
		{abi.NewError(abi.NotFound, "x"), NotFound, "x", slog.LevelInfo},
		{abi.NewError(abi.Unsupported, "x"), NotFound, "x", slog.LevelInfo},
		{abi.NewError(abi.Conflict, "x"), Conflict, "x", slog.LevelInfo},
		{abi.NewError(abi.Limit, "x"), Limit, "x", slog.LevelInfo},
		{abi.NewError(abi.Internal, "secret"), Internal, "", slog.LevelError},
		{errors.New("secret"), Internal, "", slog.LevelError},
		{&abi.Error{Code: abi.Limit, Message: "secret", Cause: store.ErrFull}, Full, "", slog.LevelError},
		{ErrBusy, Busy, ErrBusy.Error(), slog.LevelInfo},
		{ErrClosing, Unavailable, ErrClosing.Error(), slog.LevelInfo},
		{fmt.Errorf("%w: %w", errGone, context.Canceled), Gone, "", slog.LevelInfo},
		{context.Canceled, Internal, "", slog.LevelError},
		{context.DeadlineExceeded, Internal, "", slog.LevelError},
	} {
		if class, text := Classify(c.err); class != c.class || text != c.text || class.Level() != c.level {
			t.Errorf("%v: class %d, %q, %s", c.err, class, text, class.Level())
		}
	}
}

// TestIdentifyWithoutTokens checks that an Admission without tokens refuses every request,
// and a trusted one accepts it.
func TestIdentifyWithoutTokens(t *testing.T) {
	plain, bearer := httptest.NewRequest("GET", "/", nil), httptest.NewRequest("GET", "/", nil)
	bearer.Header.Set("Authorization", "Bearer x")
	for _, o := range []*AdmissionOptions{nil, {}, {Bound: 1}, {Tokens: &Tokens{}}} {
		a := NewAdmission(nil, o)
		if i, err := a.Identify(plain); i != nil || err != ErrMissing {
			t.Errorf("%+v: without a token: %v, %v", o, i, err)
		}
		if i, err := a.Identify(bearer); i != nil || err != ErrWrong {
			t.Errorf("%+v: with a token: %v, %v", o, i, err)
		}
	}
	if i, err := NewAdmission(nil, &AdmissionOptions{Trusted: true}).Identify(plain); err != nil || !i.Caller.Operator {
		t.Errorf("trusted: %v, %v", i, err)
	}
}
