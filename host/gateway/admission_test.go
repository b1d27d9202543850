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

// enter lets a request in, until the test's end.
func enter(t *testing.T, a *Admission, ctx context.Context) *Request {
	t.Helper()
	r, err := a.Enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Done)
	return r
}

func cutOff(r *Request) bool { return context.Cause(r.Context()) == ErrClosing }

func TestCloseEndsWaitsAlone(t *testing.T) {
	a := NewAdmission(nil, &AdmissionOptions{Bound: 3})
	working, waits, over := enter(t, a, t.Context()), enter(t, a, t.Context()), enter(t, a, t.Context())
	waits.Suspend()
	waits.Suspend()
	if len(a.slots) != 2 {
		t.Errorf("%d slots are taken beside a request that waits", len(a.slots))
	}
	over.Suspend()
	over.Resume()
	if len(a.slots) != 1 {
		t.Errorf("%d slots are taken beside a request that waits and one that has waited", len(a.slots))
	}

	a.Close()
	<-waits.Context().Done()
	if !cutOff(waits) || waits.Ended(context.Canceled) != ErrClosing || waits.Ended(nil) != nil {
		t.Errorf("the wait ended with %v", context.Cause(waits.Context()))
	}
	for name, r := range map[string]*Request{"working": working, "no longer waiting": over} {
		if r.Context().Err() != nil {
			t.Errorf("%s: %v", name, context.Cause(r.Context()))
		}
	}
	working.Suspend()
	<-working.Context().Done()
	if !cutOff(working) {
		t.Errorf("a wait that begins after the end: %v", context.Cause(working.Context()))
	}
	for _, r := range []*Request{working, waits, over} {
		r.Done()
		r.Done()
	}
	if len(a.slots) != 0 {
		t.Errorf("%d slots are still taken", len(a.slots))
	}
}

func TestCallerGoes(t *testing.T) {
	a := NewAdmission(nil, nil)
	defer a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r := enter(t, a, ctx)
	r.Suspend()
	cancel()
	<-r.Context().Done()
	err := r.Ended(errors.New("cut"))
	if class, _ := Classify(err); cutOff(r) || class != Gone || !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the client is %v, class %d", err, class)
	}
}

// A deadline of the gateway's own is not the client's going away: the client gets an
// answer, and the operator reads of it.
func TestDeadlineOfTheGateway(t *testing.T) {
	a := NewAdmission(nil, nil)
	defer a.Close()
	r := enter(t, a, t.Context())
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		if class, _ := Classify(r.Ended(fmt.Errorf("store: %w", err))); class != Internal {
			t.Errorf("%v while the client waits is of class %d", err, class)
		}
	}
}

func TestDone(t *testing.T) {
	a := NewAdmission(nil, nil)
	r := enter(t, a, t.Context())
	r.Suspend()
	r.Done()
	a.Close()
	if r.Context().Err() == nil || cutOff(r) {
		t.Errorf("after Done: %v", context.Cause(r.Context()))
	}
}

func TestBound(t *testing.T) {
	a := NewAdmission(nil, &AdmissionOptions{Bound: 1})
	first := enter(t, a, t.Context())
	if _, err := a.Enter(t.Context()); err != ErrBusy {
		t.Errorf("beside a request that works: %v", err)
	}
	first.Suspend()
	second := enter(t, a, t.Context())
	first.Resume()
	first.Done()
	if _, err := a.Enter(t.Context()); err != ErrBusy {
		t.Errorf("beside the second request: %v", err)
	}
	second.Done()
	enter(t, a, t.Context())
}

type noTools = Tools // a field of the name Tools would hide the method

// waiter is tools whose one call waits until it is cut off.
type waiter struct {
	noTools
	waits chan struct{}
}

func (w *waiter) Call(ctx context.Context, c *host.Call) (*host.Answer, error) {
	c.Wait.Suspend()
	defer c.Wait.Resume()
	close(w.waits)
	<-ctx.Done()
	return nil, ctx.Err()
}

// A call is cut off as every other wait, and the caller's own record stays as it was.
func TestCallsAreCutOff(t *testing.T) {
	w := &waiter{waits: make(chan struct{})}
	a := NewAdmission(w, nil)
	r := enter(t, a, t.Context())
	go func() {
		<-w.waits
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

// TestTrust checks that an Admission whose options name no clients refuses every request.
func TestTrust(t *testing.T) {
	plain, bearer := httptest.NewRequest("GET", "/", nil), httptest.NewRequest("GET", "/", nil)
	bearer.Header.Set("Authorization", "Bearer x")
	for _, o := range []*AdmissionOptions{nil, {}, {Bound: 1}, {Tokens: &Tokens{}}} {
		a := NewAdmission(nil, o)
		if who, err := a.Identify(plain); who != nil || err != ErrMissing {
			t.Errorf("%+v: without a token: %v, %v", o, who, err)
		}
		if who, err := a.Identify(bearer); who != nil || err != ErrWrong {
			t.Errorf("%+v: with a token: %v, %v", o, who, err)
		}
	}
	if who, err := NewAdmission(nil, &AdmissionOptions{Trusted: true}).Identify(plain); err != nil || !who.Caller.Operator {
		t.Errorf("trusted: %v, %v", who, err)
	}
}
