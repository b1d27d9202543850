// Package instance runs calls in instances of one instrumented module
// (wasmedit.Module.Instrument), and pools instances between calls.
//
// Pool.Get returns an Instance for exclusive use, and Pool.Put takes it back. Put
// resets memory and globals, so that each call finds the instance byte for byte in its
// state after the start function. Put closes (discards) an instance after any failure,
// and if it cannot be reset; Pool.Stats counts the reasons.
package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// Config configures how instances are created and when they are discarded.
type Config struct {
	Runtime      wazero.Runtime
	Module       wazero.CompiledModule
	Instrumented wasmedit.Instrumented
	Direct       bool // use direct memory; the module must have abi.ExportInput
	Env          extismenv.Options
	Fuel         int64         // units that a call, or the start function, may use
	Timeout      time.Duration // of a call (host functions included), or of the start function
	MaxMemory    uint64        // bytes; the runtime's own limit must be at least one page higher
	MaxGrowth    int           // bytes that an idle instance may hold beyond its snapshot
	MaxIdle      int           // idle instances in the pool
}

// Errors of a call, besides the faults of its environment.
var (
	ErrFuel  = errors.New("the fuel is exhausted")
	ErrTime  = errors.New("the deadline has passed")
	ErrStack = errors.New("the stack is exhausted")
)

// Canceled is the error of a call that ended because its caller's context ended.
type Canceled struct {
	Cause error // the error of the caller's context
	Err   error // the error of the call itself
}

func (c *Canceled) Error() string { return c.Cause.Error() + ": " + c.Err.Error() }

func (c *Canceled) Unwrap() []error { return []error{c.Cause, c.Err} }

// stackOverflow is the text of a runtime error that wazero does not export.
const stackOverflow = "stack overflow"

// Failed is the error of a call that the plugin reported as failed, by a nonzero result
// or an error text.
type Failed struct {
	Result int32
	Text   string // of error_set; may be empty
}

func (f *Failed) Error() string {
	if f.Text == "" {
		return fmt.Sprintf("the plugin failed with result %d and no error text", f.Result)
	}
	return fmt.Sprintf("the plugin failed with result %d: %s", f.Result, f.Text)
}

// Instance is one instance of the module, with its environment. It is not safe for
// concurrent use.
type Instance struct {
	config    *Config
	module    api.Module
	env       *extismenv.Env
	functions map[string]api.Function
	stack     [1]uint64
	fuel      api.MutableGlobal
	timer     deadlineTimer
	memory    memory
	snapshot  snapshot
	restore   api.Function // restores the globals; nil without mutable globals
	failed    bool
}

// open instantiates the module and runs its start function. ctx bounds both.
func open(ctx context.Context, c *Config) (*Instance, error) {
	i := &Instance{
		config: c, functions: make(map[string]api.Function, 4), memory: memory{limit: c.MaxMemory},
	}
	i.env = extismenv.New(c.Env, func() []byte { return i.memory.buf })
	module, err := c.Runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, &i.memory), c.Module,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	i.module = module
	i.fuel = module.ExportedGlobal(wasmedit.ExportFuel).(api.MutableGlobal)
	i.timer.reserve = module.ExportedGlobal(wasmedit.ExportReserve).(api.MutableGlobal)
	if err := i.start(ctx); err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	return i, nil
}

// start runs the start function and takes the snapshot.
func (i *Instance) start(ctx context.Context) error {
	if i.config.Instrumented.Start {
		if err := i.run(ctx, wasmedit.ExportStart, nil, nil); err != nil {
			return err
		}
		i.env.End()
		i.releaseStacks()
	}
	if i.config.Instrumented.Globals {
		i.restore = i.module.ExportedFunction(wasmedit.ExportRestore)
		if err := i.module.ExportedFunction(wasmedit.ExportSave).CallWithStack(ctx, nil); err != nil {
			return err
		}
	}
	i.snapshot = i.memory.snapshot()
	return nil
}

// Memory returns the size of the guest's memory in bytes.
func (i *Instance) Memory() int { return len(i.memory.buf) }

// Fuel returns the units that the last call used.
func (i *Instance) Fuel() int64 {
	return i.config.Fuel - int64(i.fuel.Get()) - int64(i.timer.reserve.Get())
}

// Call calls an export () -> (i32) with an input and returns its output, which belongs
// to the caller. An error is or wraps a *Failed, an *extismenv.Fault, a *Canceled, an
// error variable of this package, or a trap of the runtime.
func (i *Instance) Call(ctx context.Context, export string, input []byte, host extismenv.HostFunctions) ([]byte, error) {
	// Only a successful call clears this flag. After an error or a panic it stays set,
	// so that the pool discards the instance.
	i.failed = true
	defer i.env.End()
	if err := i.run(ctx, export, input, host); err != nil {
		return nil, err
	}
	// The upper half of the stack slot of an i32 is undefined.
	result, text := int32(uint32(i.stack[0])), i.env.Failure()
	if result != 0 || text != "" {
		return nil, &Failed{result, text}
	}
	i.failed = false
	return i.env.Output(), nil
}

// run calls an export within the limits. The caller must call Env.End.
func (i *Instance) run(ctx context.Context, export string, input []byte, host extismenv.HostFunctions) error {
	deadline := time.Now().Add(i.config.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	direct := i.config.Direct && export != wasmedit.ExportStart
	inner, err := i.env.Begin(ctx, extismenv.Call{Input: input, Host: host, Deadline: deadline, Direct: direct})
	if err != nil {
		return err
	}
	i.fuel.Set(uint64(min(i.config.Fuel, wasmedit.Quantum)))
	i.timer.reserve.Set(uint64(max(i.config.Fuel-wasmedit.Quantum, 0)))
	i.timer.set(deadline)
	if direct {
		err = i.writeInput(inner, input)
	}
	if err == nil {
		err = i.invoke(inner, export)
	}
	if fired := i.timer.stop(); err != nil {
		return i.callError(ctx, err, fired)
	}
	return nil
}

// writeInput asks the plugin for an input buffer and copies the input there.
func (i *Instance) writeInput(ctx context.Context, input []byte) error {
	i.stack[0] = uint64(len(input))
	if err := i.invoke(ctx, abi.ExportInput); err != nil {
		return err
	}
	return i.env.WriteInput(input, uint32(i.stack[0]))
}

// invoke calls an export with the arguments on the stack.
func (i *Instance) invoke(ctx context.Context, export string) error {
	f := i.functions[export]
	if f == nil {
		if f = i.module.ExportedFunction(export); f == nil {
			return fmt.Errorf("there is no export %q", export)
		}
		i.functions[export] = f
	}
	return f.CallWithStack(ctx, i.stack[:])
}

// callError returns the error for the caller of a call that failed with err. An error
// of a host function takes precedence over a timeout: the host function took the time,
// not the guest.
func (i *Instance) callError(ctx context.Context, err error, fired bool) error {
	var fault *extismenv.Fault
	host := errors.As(err, &fault) && fault.Kind == extismenv.Host
	if fired || host {
		if cause := callerErr(ctx); cause != nil {
			return &Canceled{cause, err}
		}
	}
	switch {
	case host:
		return err
	case fired:
		return ErrTime
	case int64(i.fuel.Get()) < 0:
		return ErrFuel
	case err.Error() == stackOverflow:
		return ErrStack
	}
	return err
}

// callerErr returns the error of the caller's context, or nil if it has not ended.
func callerErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// The context's timer may fire after a deadlineTimer with the same deadline.
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// stackUnits is the fuel with which a call can fill about 1 MiB of stack, because an
// instruction pushes at most one value.
const stackUnits = 1 << 16

// releaseStacks releases the stacks of the last call if it may have been deeply nested.
// Each api.Function has its own stack, which can grow to tens of MiB and never shrinks.
func (i *Instance) releaseStacks() {
	if i.Fuel() > stackUnits {
		clear(i.functions)
	}
}

// reset restores the state after the start function. It returns reusable, or the reason
// to discard the instance.
func (i *Instance) reset() outcome {
	switch {
	case i.failed:
		return failed
	case i.config.Instrumented.Volatile:
		return volatile
	case cap(i.memory.buf)-i.snapshot.size > i.config.MaxGrowth:
		return grown
	case !i.memory.restore(i.snapshot, i.module.Memory()):
		return grown
	}
	i.releaseStacks()
	if i.restore != nil {
		if err := i.restore.CallWithStack(context.Background(), nil); err != nil {
			return failed
		}
	}
	return reusable
}

func (i *Instance) close(ctx context.Context) error { return i.module.Close(ctx) }
