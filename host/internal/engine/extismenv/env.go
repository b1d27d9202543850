// Package extismenv implements the Extism environment in Go: the imports
// "extism:host/env", and the three namespaces of host functions in "extism:host/user".
//
// With kernel calls, plugin and host exchange bytes without sharing memory: the plugin
// allocates blocks in the environment, reads and writes them eight bytes at a time, and
// passes their offsets. Input, output, error texts and the requests and replies of host
// functions are such blocks. With direct memory, input, output, requests and replies
// stay in the plugin's own memory (abi/README.md, "Direct memory"). An Env holds the
// state of one instance and serves one call at a time. Env.End discards blocks,
// variables, input and output, so no call can read the state of another.
//
// The plugin's offsets and lengths are untrusted. If a value does not refer to
// allocated bytes, the call traps with a Fault that names the function and the value.
// Options bound the memory that a call can make the host allocate.
//
// Differences from Extism: variables do not outlive the call, http_request always
// traps, config_get always returns nothing (the input of a step contains its settings),
// and an access outside of a block is an error instead of undefined behavior.
package extismenv

import (
	"bytes"
	"context"
	"log/slog"
	"time"
	"unicode/utf8"
)

// HostFunctions serves "extism:host/user". The request is valid only during the call,
// and the reply is copied. An error ends the plugin's call with that error.
type HostFunctions interface {
	Call(ctx context.Context, namespace string, request []byte) (reply []byte, err error)
}

// Options bound each call of an Env. All fields are required.
type Options struct {
	MaxIn        int // bytes of the input and of the replies of host functions
	MaxOut       int // bytes of the requests to host functions and of the output
	MaxHostCalls int // calls of host functions; fuel bounds the kernel calls
	MaxLogLines  int
	Logger       *slog.Logger
}

// Bounds of log lines and error texts, in bytes.
const (
	maxLogLine = 4 << 10
	maxError   = 4 << 10
)

// ownMemory is the number of bytes that a call may allocate in the environment in
// addition to MaxIn and MaxOut: for names, log lines and error texts.
const ownMemory = 1 << 20

// varOverhead is the assumed memory of a variable in addition to its name and value, in
// bytes.
const varOverhead = 128

// Env is the environment of one instance. It is not safe for concurrent use.
type Env struct {
	options     Options
	mem         memory
	ctx         callContext
	host        hostCalls
	input       block
	output      []byte
	failure     string // text of error_set
	errorOffset uint64 // of the block with that text; 0: no error text is set
	vars        map[string][]byte
	varSize     int // bytes, including varOverhead
	in, out     int // bytes that countIn and countOut have counted
	lines       int // logged lines
	guest       guest
}

// New returns an Env; Begin starts its first call. guestMemory returns the plugin's
// memory, and may be nil if no call uses direct memory.
func New(o Options, guestMemory func() []byte) *Env {
	e := &Env{options: o, mem: memory{limit: o.MaxIn + o.MaxOut + ownMemory}, guest: guest{memory: guestMemory}}
	e.ctx.env = e
	return e
}

// Call holds the parameters of a call.
type Call struct {
	Input    []byte
	Host     HostFunctions // nil: host functions trap
	Deadline time.Time     // the deadline of the host functions' context
	Direct   bool          // use direct memory: input, output, requests and replies are in the plugin's own memory
}

// Begin prepares a call and returns the context for calling the plugin. It fails with a
// *Fault if the input is too large.
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

// Output returns the output that the call set last, or nil. The slice belongs to the
// caller.
func (e *Env) Output() []byte { return e.output }

// Failure returns the error text that the call set, or "".
func (e *Env) Failure() string {
	if e.errorOffset != 0 && e.failure == "" {
		return "(an empty text)"
	}
	return e.failure
}

// End clears the state of the call.
func (e *Env) End() {
	e.host.end()
	e.host, e.ctx.Context = hostCalls{}, nil
	e.mem.reset()
	e.input, e.output = block{}, nil
	e.failure, e.errorOffset = "", 0
	e.vars = nil // releases the map's memory too
	e.varSize, e.in, e.out, e.lines = 0, 0, 0, 0
	e.guest.pending, e.guest.direct = nil, false
}

// countIn counts bytes that the plugin receives. It fails if they exceed MaxIn.
func (e *Env) countIn(n int) *Fault {
	if n > e.options.MaxIn-e.in {
		return faultf(In, "input and replies of host functions have more than %d bytes", e.options.MaxIn)
	}
	e.in += n
	return nil
}

// countOut counts bytes that the plugin sends. It fails if they exceed MaxOut.
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
	// Copy the bytes, because the plugin may free or overwrite them at once. The caller
	// of Output gets this copy.
	e.output = append(e.output[:0], b...)
}

func (e *Env) setError(p uint64) {
	if p == 0 {
		e.failure, e.errorOffset = "", 0
		return
	}
	b, f := e.mem.contents("error_set", p)
	check(f)
	e.failure, e.errorOffset = clip(b, maxError), p
}

func (e *Env) varGet(p uint64) uint64 {
	name, f := e.mem.contents("var_get", p)
	check(f)
	off, f := e.mem.put(e.vars[string(name)])
	check(f)
	return off
}

func (e *Env) varSet(p, v uint64) {
	name, f := e.mem.contents("var_set", p)
	check(f)
	if old, ok := e.vars[string(name)]; ok {
		e.varSize -= varOverhead + len(name) + len(old)
		delete(e.vars, string(name))
	}
	if v == 0 {
		return
	}
	value, f := e.mem.contents("var_set", v)
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
	b, f := e.mem.contents(op, p)
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
