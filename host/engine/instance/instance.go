// Package instance runs calls in instances of one compiled module, and keeps
// instances between calls.
//
// An Instance is used by one goroutine at a time: the Pool hands it out and takes
// it back. It is spent, and closed instead of kept, after any failure (the
// guest's memory is then in an unknown state), when its context ended during a
// call, after Config.MaxCalls calls, and when its memory has grown by more than
// Config.MaxGrowth: WebAssembly memory cannot shrink, so that only a new instance
// keeps a process flat.
package instance

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/engine/extismenv"
)

// Config says how instances are made and when they are spent.
type Config struct {
	Runtime   wazero.Runtime
	Module    wazero.CompiledModule
	Env       extismenv.Options
	MaxCalls  int    // calls per instance
	MaxGrowth uint32 // bytes
	MaxIdle   int    // instances that wait for a call
}

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
	module    api.Module
	env       *extismenv.Env
	functions map[string]api.Function
	stack     [1]uint64
	initial   uint32 // bytes of memory after the start function
	calls     int
	spent     bool
}

// open instantiates the module and runs its start function, under ctx.
func open(ctx context.Context, c *Config) (*Instance, error) {
	i := &Instance{env: extismenv.New(c.Env), functions: make(map[string]api.Function, 3)}
	if err := i.env.Begin(nil, nil); err != nil {
		return nil, err
	}
	module, err := c.Runtime.InstantiateModule(i.env.Context(ctx), c.Module,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	i.module, i.initial = module, memorySize(module)
	return i, nil
}

func memorySize(m api.Module) uint32 {
	if mem := m.Memory(); mem != nil {
		return mem.Size()
	}
	return 0
}

// Memory returns the size of the guest's memory in bytes.
func (i *Instance) Memory() uint32 { return memorySize(i.module) }

// Call calls an export () -> (i32) with this input and returns what it set as
// output, which belongs to the caller. Errors are a *Failed, an
// *extismenv.Fault, or the runtime's: a trap, or the end of ctx.
func (i *Instance) Call(ctx context.Context, export string, input []byte, host extismenv.HostFunctions) ([]byte, error) {
	f := i.functions[export]
	if f == nil {
		if f = i.module.ExportedFunction(export); f == nil {
			return nil, fmt.Errorf("there is no export %q", export)
		}
		i.functions[export] = f
	}
	i.calls++
	if err := i.env.Begin(input, host); err != nil {
		return nil, err
	}
	defer i.env.End()
	// Only a call that returns clears the mark: whatever else happens, a panic
	// included, the instance is not used again.
	i.spent = true
	if err := f.CallWithStack(i.env.Context(ctx), i.stack[:]); err != nil {
		return nil, err
	}
	// The upper half of the stack slot of an i32 is undefined.
	result, text := int32(uint32(i.stack[0])), i.env.Failure()
	if result != 0 || text != "" {
		return nil, &Failed{result, text}
	}
	// When the context has ended, the runtime may close the module at any moment
	// from now on, although the call is over.
	i.spent = ctx.Err() != nil
	return i.env.Output(), nil
}

// usable reports whether the instance may serve another call.
func (i *Instance) usable(c *Config) bool {
	return !i.spent && i.calls < c.MaxCalls && i.Memory()-i.initial <= c.MaxGrowth
}

func (i *Instance) close(ctx context.Context) error { return i.module.Close(ctx) }
