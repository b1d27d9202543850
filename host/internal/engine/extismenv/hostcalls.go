package extismenv

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// hostCalls is the state of the host functions during one call of the plugin.
type hostCalls struct {
	functions HostFunctions
	deadline  time.Time
	count     int
	ctx       context.Context // of the host functions; nil before the first call
	cancel    context.CancelFunc
}

// context returns the context of the host functions. The first call creates it, because
// many steps call no host function.
func (h *hostCalls) context(parent context.Context) context.Context {
	if h.ctx == nil {
		h.ctx, h.cancel = context.WithDeadline(parent, h.deadline)
	}
	return h.ctx
}

func (h *hostCalls) end() {
	if h.cancel != nil {
		h.cancel()
	}
}

// call serves one host function. p is the offset of the request, and the result is the
// offset of the reply; with direct memory, see callDirect.
func (e *Env) call(namespace string, p uint64) uint64 {
	if e.guest.direct {
		return e.callDirect(namespace, p)
	}
	request, f := e.mem.contents(namespace, p)
	check(f)
	check(e.countOut(uint64(len(request))))
	reply := e.callHost(namespace, request)
	check(e.countIn(len(reply)))
	off, f := e.mem.put(reply)
	check(f)
	return off
}

// callHost enforces the limits and returns the reply of a host function. It turns
// errors and panics into faults, which end only this call.
func (e *Env) callHost(namespace string, request []byte) []byte {
	h := &e.host
	if h.functions == nil {
		check(faultf(Refused, "%s: there are no host functions in this call", namespace))
	}
	if h.count++; h.count > e.options.MaxHostCalls {
		check(faultf(HostCalls, "%s: more than %d calls of host functions", namespace, e.options.MaxHostCalls))
	}
	ctx := h.context(e.ctx.Context)
	reply, err := e.callRecovered(ctx, namespace, request)
	// Discard a reply that arrives after the deadline. Check the clock too, because the
	// context's timer may fire late.
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && !time.Now().Before(h.deadline) {
		err = context.DeadlineExceeded
	}
	if err != nil {
		check(&Fault{Host, namespace + ": " + err.Error(), err})
	}
	return reply
}

func (e *Env) callRecovered(ctx context.Context, namespace string, request []byte) (reply []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.options.Logger.Error("engine: host function panicked", "namespace", namespace, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("the host function panicked: %v", r)
		}
	}()
	return e.host.functions.Call(ctx, namespace, request)
}
