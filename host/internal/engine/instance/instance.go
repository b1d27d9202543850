// Package instance runs calls in instances of one hardened module
// (wasmedit.Module.Harden), and keeps instances between calls.
//
// An Instance is used by one goroutine at a time: the Pool hands it out and takes
// it back. Before each call it is byte for byte what it was after its start
// function: its memory and its globals are put back after every call. It is
// spent, and closed instead of kept, after any failure, and when it cannot be put
// back: Pool.Stats counts the reasons.
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

// Config says how instances are made and when they are spent.
type Config struct {
	Runtime      wazero.Runtime
	Module       wazero.CompiledModule
	Instrumented wasmedit.Hardened
	Direct       bool // the module has abi.ExportInput, and it is to be used
	Env          extismenv.Options
	Fuel         int64         // units of a call, and of the start function
	Timeout      time.Duration // of a call, host functions included, and of the start function
	MaxMemory    uint64        // bytes; the runtime's own limit must be a page more
	MaxGrowth    int           // bytes that an instance which waits may hold beyond its image
	MaxIdle      int           // instances that wait for a call
}

// What a call can run into, beside the faults of its environment.
var (
	ErrFuel  = errors.New("the fuel is used up")
	ErrTime  = errors.New("the time is over")
	ErrStack = errors.New("the stack is used up")
)

// Gone is the error of a call that ended because its caller did not wait for it any
// longer.
type Canceled struct {
	Cause error // the error of the caller's context
	Err   error // what the call ran into
}

func (g *Canceled) Error() string { return g.Cause.Error() + ": " + g.Err.Error() }

func (g *Canceled) Unwrap() []error { return []error{g.Cause, g.Err} }

// stackOverflow is the text of an error that the runtime keeps to itself.
const stackOverflow = "stack overflow"

// Failed is the error of a call that the plugin itself ended as failed, with a
// result that is not zero or with an error text.
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

// Instance is one instance of the module, with its environment.
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
	restore   api.Function // of the globals; nil if there are none
	failed    bool
}

// open instantiates the module and runs its start function, under ctx.
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

// start runs the start function, and keeps what the instance is then.
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

// Fuel returns how much the last call has used.
func (i *Instance) Fuel() int64 {
	return i.config.Fuel - int64(i.fuel.Get()) - int64(i.timer.reserve.Get())
}

// Call calls an export () -> (i32) with this input and returns what it set as
// output, which belongs to the caller. Errors are a *Failed, an
// *extismenv.Fault, one of the errors of this package, a *Gone, or a trap.
func (i *Instance) Call(ctx context.Context, export string, input []byte, host extismenv.HostFunctions) ([]byte, error) {
	// Only a call that returns clears the mark: whatever else happens, a panic
	// included, the instance is not used again.
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

// run calls an export within the limits. The environment's call has to be ended.
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
	i.fuel.Set(uint64(min(i.config.Fuel, wasmedit.Slice)))
	i.timer.reserve.Set(uint64(max(i.config.Fuel-wasmedit.Slice, 0)))
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

// place puts the input where the plugin wants it.
func (i *Instance) writeInput(ctx context.Context, input []byte) error {
	i.stack[0] = uint64(len(input))
	if err := i.invoke(ctx, abi.ExportInput); err != nil {
		return err
	}
	return i.env.WriteInput(input, uint32(i.stack[0]))
}

// invoke calls an export with what is on the stack.
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

// reason says what a call ran into that failed with err. That a host function failed
// is the reason even if the alarm has rung: it was not the guest that took the time.
func (i *Instance) callError(ctx context.Context, err error, fired bool) error {
	var fault *extismenv.Fault
	host := errors.As(err, &fault) && fault.Kind == extismenv.Host
	if fired || host {
		if why := callerErr(ctx); why != nil {
			return &Canceled{why, err}
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

// gone says why the caller does not wait any longer, nil if it does.
func callerErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// The context's timer can come later than the alarm that was set for the same time.
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// stackUnits is the fuel with which a call can fill about a MiB of stack: a
// value there was made by an instruction.
const stackUnits = 1 << 16

// forgetStacks gives back the stack of a call that may have been deep. Each function
// holds its own, which grows to tens of MiB and never shrinks.
func (i *Instance) releaseStacks() {
	if i.Fuel() > stackUnits {
		clear(i.functions)
	}
}

// reset makes the instance what it was after its start function, and reports
// why it is spent, if it is.
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
