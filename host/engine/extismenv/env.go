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
	"fmt"
	"log/slog"
	"runtime/debug"
	"unicode/utf8"
)

// HostFunctions serves "extism:host/user". Request is only valid during the
// call; the reply is copied.
type HostFunctions interface {
	Call(ctx context.Context, family string, request []byte) (reply []byte)
}

// Options bound an Env. All fields are required.
type Options struct {
	MaxMemory int // bytes that a call may allocate in the environment, input and replies included
	MaxOutput int // bytes
	Logger    *slog.Logger
}

// Bounds on what a call may write to the log and as error text, in bytes.
const (
	maxLogLine = 4 << 10
	maxLog     = 64 << 10
	maxError   = 4 << 10
)

// Env is the environment of one instance. It is not safe for concurrent use.
type Env struct {
	options Options
	mem     memory
	input   block
	output  []byte
	failure string // text of error_set
	failed  uint64 // its offset
	vars    map[string][]byte
	varSize int
	logged  int
	host    HostFunctions
}

// New returns an Env without a call.
func New(o Options) *Env {
	return &Env{options: o, mem: memory{limit: o.MaxMemory}}
}

// Begin prepares a call with this input. host may be nil: then host functions
// trap. It fails, with a *Fault, if the input does not fit.
func (e *Env) Begin(input []byte, host HostFunctions) error {
	e.End()
	e.host = host
	off, f := e.mem.put(input)
	if f != nil {
		return f
	}
	e.input = block{off: off, size: uint64(len(input))}
	return nil
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
	e.mem.reset()
	e.input, e.output = block{}, nil
	e.failure, e.failed = "", 0
	clear(e.vars)
	e.varSize, e.logged = 0, 0
	e.host = nil
}

func (e *Env) setOutput(p, n uint64) {
	if n > uint64(e.options.MaxOutput) {
		check(&Fault{Output, fmt.Sprintf("output_set: %d bytes of output; at most %d are accepted", n, e.options.MaxOutput)})
	}
	if n == 0 {
		e.output = []byte{}
		return
	}
	b, f := e.mem.span("output_set", p, n)
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
		e.varSize -= len(name) + len(old)
		delete(e.vars, string(name))
	}
	if v == 0 {
		return
	}
	value, f := e.mem.text("var_set", v)
	check(f)
	size := e.varSize + len(name) + len(value)
	if size > e.options.MaxMemory {
		check(limitf("var_set: the variables take more than %d bytes", e.options.MaxMemory))
	}
	e.varSize = size
	if e.vars == nil {
		e.vars = map[string][]byte{}
	}
	e.vars[string(name)] = append([]byte(nil), value...)
}

// call serves one host function.
func (e *Env) call(ctx context.Context, family string, p uint64) uint64 {
	if e.host == nil {
		check(&Fault{Refused, family + ": there are no host functions in this call"})
	}
	request, f := e.mem.text(family, p)
	check(f)
	off, f := e.mem.put(e.ask(ctx, family, request))
	check(f)
	return off
}

// ask turns a panic of the program behind the host functions into a fault: it
// must end this call and nothing else.
func (e *Env) ask(ctx context.Context, family string, request []byte) []byte {
	defer func() {
		if r := recover(); r != nil {
			e.options.Logger.Error("engine: host function panicked", "family", family, "panic", r, "stack", string(debug.Stack()))
			panic(&Fault{Host, fmt.Sprintf("%s: the host function panicked: %v", family, r)})
		}
	}()
	return e.host.Call(ctx, family, request)
}

func (e *Env) log(ctx context.Context, op string, level slog.Level, p uint64) {
	b, f := e.mem.text(op, p)
	check(f)
	if e.logged >= maxLog || !e.options.Logger.Enabled(ctx, level) {
		return
	}
	text := clip(b, maxLogLine)
	if e.logged += len(text) + overhead; e.logged >= maxLog {
		text += " (the plugin's further lines in this call are left out)"
	}
	e.options.Logger.Log(ctx, level, "plugin: "+text)
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
