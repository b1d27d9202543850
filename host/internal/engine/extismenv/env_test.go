package extismenv

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"
	"time"
)

type echo struct{}

var _ HostFunctions = echo{}

func (echo) Call(_ context.Context, _ string, request []byte) ([]byte, error) { return request, nil }

func newEnv(log *bytes.Buffer) *Env {
	return New(Options{
		MaxIn: 4096, MaxOut: 1024, MaxHostCalls: 10, MaxLogLines: 10,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug - 4})),
	}, nil)
}

func begin(e *Env, input []byte, h HostFunctions) error {
	_, err := e.Begin(context.Background(), Call{Input: input, Host: h, Deadline: time.Now().Add(time.Hour)})
	return err
}

// invoke calls a function as a plugin would, and returns its result or its fault.
func invoke(e *Env, name string, stack ...uint64) (result uint64, fault *Fault) {
	defer func() {
		if r := recover(); r != nil {
			fault = r.(*Fault)
		}
	}()
	for _, f := range append(environment, user...) {
		if f.name == name {
			s := append(stack, 0, 0)
			f.call(&e.ctx, s)
			return s[0], nil
		}
	}
	panic("no function " + name)
}

func must(t *testing.T, e *Env, name string, stack ...uint64) uint64 {
	t.Helper()
	result, fault := invoke(e, name, stack...)
	if fault != nil {
		t.Fatalf("%s%v: %v", name, stack, fault)
	}
	return result
}

// put allocates and fills a block as a plugin does.
func put(t *testing.T, e *Env, text string) uint64 {
	off := must(t, e, "alloc", uint64(len(text)))
	for i := range len(text) {
		must(t, e, "store_u8", off+uint64(i), uint64(text[i]))
	}
	return off
}

func read(t *testing.T, e *Env, off uint64) string {
	b := make([]byte, must(t, e, "length", off))
	for i := range b {
		b[i] = byte(must(t, e, "load_u8", off+uint64(i)))
	}
	return string(b)
}

func TestFunctions(t *testing.T) {
	var log bytes.Buffer
	e := newEnv(&log)
	if err := begin(e, []byte("the input"), echo{}); err != nil {
		t.Fatal(err)
	}
	if n, off := must(t, e, "input_length"), must(t, e, "input_offset"); n != 9 || read(t, e, off) != "the input" {
		t.Errorf("the input has %d bytes at %d", n, off)
	}
	if got := must(t, e, "input_load_u64", 1); got != binary.LittleEndian.Uint64([]byte("he input")) {
		t.Errorf("input_load_u64 is %x", got)
	}
	if got := read(t, e, must(t, e, "store", put(t, e, "a request"))); got != "a request" {
		t.Errorf("the host function answered %q", got)
	}
	name := put(t, e, "name")
	must(t, e, "var_set", name, put(t, e, "value"))
	if got := read(t, e, must(t, e, "var_get", name)); got != "value" {
		t.Errorf("the variable is %q", got)
	}
	must(t, e, "var_set", name, 0)
	if got := must(t, e, "var_get", name); got != 0 {
		t.Errorf("a removed variable is at %d", got)
	}
	if got := must(t, e, "config_get", name); got != 0 {
		t.Errorf("config_get is %d", got)
	}
	for _, fn := range []string{"http_status_code", "http_headers", "get_log_level", "error_get"} {
		if got := must(t, e, fn); got != 0 {
			t.Errorf("%s is %d", fn, got)
		}
	}
	text := put(t, e, "a text")
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		must(t, e, "log_"+level, text)
	}
	if n := strings.Count(log.String(), "plugin: a text"); n != 5 {
		t.Errorf("%d lines were logged:\n%s", n, log.String())
	}
	must(t, e, "error_set", text)
	if e.Failure() != "a text" || must(t, e, "error_get") != text {
		t.Errorf("the error is %q", e.Failure())
	}
	must(t, e, "error_set", 0)
	if e.Failure() != "" {
		t.Errorf("the cleared error is %q", e.Failure())
	}
	must(t, e, "output_set", text+2, 4)
	must(t, e, "free", text)
	if string(e.Output()) != "text" {
		t.Errorf("the output is %q", e.Output())
	}
	must(t, e, "output_set", 0, 0)
	if e.Output() == nil || len(e.Output()) != 0 {
		t.Errorf("an empty output is %#v", e.Output())
	}
}

func TestLengthOfInvalidOffset(t *testing.T) {
	e := newEnv(new(bytes.Buffer))
	if err := begin(e, nil, nil); err != nil {
		t.Fatal(err)
	}
	block := put(t, e, "0123456789")
	for _, off := range []uint64{0, 1, block + 1, block - 1, block + 16, 1 << 40, 1<<64 - 1} {
		must(t, e, "free", off)
		if n := must(t, e, "length", off); n != 0 {
			t.Errorf("length(%d) = %d", off, n)
		}
	}
	if n := must(t, e, "length_unsafe", block); n != 10 {
		t.Errorf("length(%d) = %d", block, n)
	}
	if off := must(t, e, "alloc", 0); off != 0 {
		t.Errorf("alloc(0) = %d", off)
	}
}

func TestInputTooLarge(t *testing.T) {
	e := newEnv(new(bytes.Buffer))
	if err := begin(e, make([]byte, 5000), nil); err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("got %v", err)
	}
	if err := begin(e, make([]byte, 3000), nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestManyVariables checks that each variable counts toward the limit with its
// overhead, and that a replaced value no longer counts.
func TestManyVariables(t *testing.T) {
	e := newEnv(&bytes.Buffer{})
	if err := begin(e, nil, nil); err != nil {
		t.Fatal(err)
	}
	name := must(t, e, "alloc", 8)
	for n := range uint64(2 * e.mem.limit / varOverhead) {
		must(t, e, "store_u64", name, n%8)
		must(t, e, "var_set", name, name)
	}
	for n := range uint64(e.mem.limit) {
		must(t, e, "store_u64", name, n)
		if _, fault := invoke(e, "var_set", name, name); fault != nil {
			if most := uint64(e.mem.limit / varOverhead); fault.Kind != Memory || n > most {
				t.Errorf("after %d variables: %v", n, fault)
			}
			return
		}
	}
	t.Error("the number of variables is unbounded")
}

// FuzzEnv calls arbitrary functions with arbitrary arguments. Each call must succeed or
// return a fault, memory must stay bounded, and the next call must not see any state.
func FuzzEnv(f *testing.F) {
	all := append(environment, user...)
	f.Add([]byte{0, 1, 0, 64, 6, 64, 1, 1, 64, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		e := New(Options{MaxIn: 2048, MaxOut: 1024, MaxHostCalls: 100, MaxLogLines: 100, Logger: slog.New(slog.DiscardHandler)}, nil)
		if err := begin(e, []byte("input"), echo{}); err != nil {
			t.Fatal(err)
		}
		number := func(b byte) uint64 { // a small number, an offset in or near a block, or a huge number
			if b > 250 {
				return ^uint64(0) - uint64(255-b)
			}
			return uint64(b) * uint64(b) / 16
		}
		for len(script) >= 3 {
			_, _ = invoke(e, all[int(script[0])%len(all)].name, number(script[1]), number(script[2]))
			script = script[3:]
		}
		if len(e.mem.buf) > e.mem.limit || e.in > 2048 || e.out > 1024 || len(e.output) > e.out || e.varSize > e.mem.limit {
			t.Fatalf("memory %d, output %d, variables %d", len(e.mem.buf), len(e.output), e.varSize)
		}
		if err := begin(e, nil, nil); err != nil {
			t.Fatal(err)
		}
		if len(e.vars) > 0 || e.Failure() != "" || e.Output() != nil {
			t.Fatal("state of the previous call is left")
		}
		if got, fault := invoke(e, "load_u8", must(t, e, "alloc", 3000)); got != 0 || fault != nil {
			t.Fatalf("a new block holds %d, %v", got, fault)
		}
	})
}
