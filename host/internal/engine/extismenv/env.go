// Package extismenv is the Extism environment in Go: what a plugin imports from
// "extism:host/env", and the three families of host functions of
// "extism:host/user".
//
// Plugin and host share no memory. The plugin allocates blocks in the
// environment, fills and reads them eight bytes at a time, and passes their
// offsets: that is how input, output, error texts and the documents of host
// functions travel. An Env holds this state for one instance; it serves one call
// at a time, and everything in it ends with the call: blocks, variables, input
// and output. Nothing of one call is visible to the next.
//
// A plugin may lie about every offset and length. What names no allocated bytes
// traps, with a Fault that says which function and which number, and all a call
// can make the host allocate is bounded by Options.
//
// Compared to Extism: variables do not outlive the call, http_request always
// traps, config_get always answers that there is nothing (a step's input carries
// its configuration), and an access outside of a block is an error rather than
// anything goes.
package extismenv

import (
	"bytes"
	"context"
	"log/slog"
	"time"
	"unicode/utf8"
)

// HostFunctions serves "extism:host/user". The request is only valid during the
// call; the reply is copied. An error ends the plugin's call with it.
type HostFunctions interface {
	Call(ctx context.Context, namespace string, request []byte) (reply []byte, err error)
}

// Options bound each call of an Env. All fields are required.
type Options struct {
	MaxIn        int // bytes of the input and of the replies of host functions
	MaxOut       int // bytes of the requests to host functions and of the output
	MaxHostCalls int // of host functions; the environment's own are bounded by fuel
	MaxLogLines  int
	Logger       *slog.Logger
}

// Bounds of what the plugin says for people, in bytes.
const (
	maxLogLine = 4 << 10
	maxError   = 4 << 10
)

// ownMemory is what a call may allocate in the environment beyond what goes in and
// out: names, log lines, error texts.
const ownMemory = 1 << 20

// varOverhead is what a variable takes beside its name and value.
const varOverhead = 128

// Env is the environment of one instance. It is not safe for concurrent use.
type Env struct {
	options Options
	mem     memory
	ctx     callContext
	host    hostCalls
	input   block
	output  []byte
	failure string // text of error_set
	failed  uint64 // its offset
	vars    map[string][]byte
	varSize int
	in, out int // bytes
	lines   int
	guest   guest
}

// New returns an Env without a call. guestMemory returns the plugin's own memory, as
// it is now; nil if there are no direct calls.
func New(o Options, guestMemory func() []byte) *Env {
	e := &Env{options: o, mem: memory{limit: o.MaxIn + o.MaxOut + ownMemory}, guest: guest{memory: guestMemory}}
	e.ctx.env = e
	return e
}

// Call is what a call brings with it.
type Call struct {
	Input    []byte
	Host     HostFunctions // nil: host functions trap
	Deadline time.Time     // when the context of host functions ends
	Direct   bool          // input, output and host functions use the plugin's own memory
}

// Begin prepares a call, and returns the context with which to call the plugin. It
// fails, with a *Fault, if the input does not fit.
func (e *Env) Begin(ctx context.Context, c Call) (context.Context, error) {
	e.End()
	e.ctx.Context = ctx
	e.host = hostCalls{functions: c.Host, deadline: c.Deadline}
	if f := e.countIn(len(c.Input)); f != nil {
		return nil, f
	}
	if e.guest.direct = c.Direct; c.Direct {
		return &e.ctx, nil
	}
	off, f := e.mem.put(c.Input)
	if f != nil {
		return nil, f
	}
	e.input = block{off: off, size: uint64(len(c.Input))}
	return &e.ctx, nil
}

// Output is what the call set last; it belongs to the caller. Nil means that it
// set none.
func (e *Env) Output() []byte { return e.output }

// Failure is the error text that the call set, empty if it set none.
func (e *Env) Failure() string {
	if e.failed != 0 && e.failure == "" {
		return "(an empty text)"
	}
	return e.failure
}

// End forgets the call.
func (e *Env) End() {
	e.host.end()
	e.host, e.ctx.Context = hostCalls{}, nil
	e.mem.reset()
	e.input, e.output = block{}, nil
	e.failure, e.failed = "", 0
	e.vars = nil // and with it the room that many variables took
	e.varSize, e.in, e.out, e.lines = 0, 0, 0, 0
	e.guest.pending, e.guest.direct = nil, false
}

// enter counts bytes that go to the plugin, leave bytes that come from it.
func (e *Env) countIn(n int) *Fault {
	if n > e.options.MaxIn-e.in {
		return faultf(In, "input and replies of host functions have more than %d bytes", e.options.MaxIn)
	}
	e.in += n
	return nil
}

func (e *Env) countOut(n uint64) *Fault {
	if n > uint64(e.options.MaxOut-e.out) {
		return faultf(Out, "output and requests to host functions have more than %d bytes", e.options.MaxOut)
	}
	e.out += int(n)
	return nil
}

func (e *Env) setOutput(p, n uint64) {
	check(e.countOut(n))
	if n == 0 {
		e.output = []byte{}
		return
	}
	var b []byte
	var f *Fault
	if e.guest.direct {
		b, f = e.guest.span("output_set", p, n)
	} else {
		b, f = e.mem.span("output_set", p, n)
	}
	check(f)
	// A copy: the plugin may free the block at once. The slice leaves with the
	// call, so that this is the only copy.
	e.output = append(e.output[:0], b...)
}

func (e *Env) setError(p uint64) {
	if p == 0 {
		e.failure, e.failed = "", 0
		return
	}
	b, f := e.mem.text("error_set", p)
	check(f)
	e.failure, e.failed = clip(b, maxError), p
}

func (e *Env) varGet(p uint64) uint64 {
	name, f := e.mem.text("var_get", p)
	check(f)
	off, f := e.mem.put(e.vars[string(name)])
	check(f)
	return off
}

func (e *Env) varSet(p, v uint64) {
	name, f := e.mem.text("var_set", p)
	check(f)
	if old, ok := e.vars[string(name)]; ok {
		e.varSize -= varOverhead + len(name) + len(old)
		delete(e.vars, string(name))
	}
	if v == 0 {
		return
	}
	value, f := e.mem.text("var_set", v)
	check(f)
	size := e.varSize + varOverhead + len(name) + len(value)
	if size > e.mem.limit {
		check(limitf("var_set: the variables take more than %d bytes", e.mem.limit))
	}
	e.varSize = size
	if e.vars == nil {
		e.vars = map[string][]byte{}
	}
	e.vars[string(name)] = append([]byte(nil), value...)
}

func (e *Env) log(ctx context.Context, op string, level slog.Level, p uint64) {
	b, f := e.mem.text(op, p)
	check(f)
	if e.lines++; e.lines > e.options.MaxLogLines {
		check(faultf(LogLines, "%s: more than %d lines to log", op, e.options.MaxLogLines))
	}
	if e.options.Logger.Enabled(ctx, level) {
		e.options.Logger.Log(ctx, level, "plugin: "+clip(b, maxLogLine))
	}
}

var replacement = []byte("\uFFFD")

// clip returns at most n bytes of b as valid UTF-8.
func clip(b []byte, n int) string {
	if len(b) > n {
		for n > 0 && !utf8.RuneStart(b[n]) {
			n--
		}
		return string(bytes.ToValidUTF8(b[:n], replacement)) + "…"
	}
	return string(bytes.ToValidUTF8(b, replacement))
}
