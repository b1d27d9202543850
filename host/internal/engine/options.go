package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
)

// Options configure an Engine. The zero value of every field is its default; New copies
// the struct.
type Options struct {
	// CacheDir is the folder for compiled modules. Loading a module from it takes
	// milliseconds. The program executes its files, so only the user who runs the
	// program may have write access. New creates the folder if it is missing. Empty: no
	// cache.
	CacheDir string
	// Limits bound the resources of a plugin.
	Limits Limits
	// KernelCallsOnly moves all bytes through Extism kernel calls, as other hosts do,
	// even if the plugin supports direct memory.
	KernelCallsOnly bool
	// Logger receives the log lines of plugins, panics of host functions, and warnings
	// about the cache; nil: slog.Default().
	Logger *slog.Logger

	// wasi makes WASI importable. Only tests set it, for modules from other compilers.
	wasi func(context.Context, wazero.Runtime) error
}

// Limits bound a plugin. The default of each field is at the end of its comment; zero
// means the default. The limits of a step also apply to the start function and to
// describe.
type Limits struct {
	Fuel          int           // units of a step, about one per instruction (wasmedit.Module.Instrument); 4 billion
	StepTimeout   time.Duration // time of a step, host functions included; 5 s
	MemoryMiB     int           // memory of one instance; 64, at most 4095
	HostCalls     int           // calls of host functions in a step; 1,000
	InMiB         int           // bytes of the input and the replies of host functions in a step; 32
	OutMiB        int           // bytes of the output and the requests to host functions in a step; 8
	LogLines      int           // lines that a step logs; 256
	ModuleBytes   int           // size of a module file; 32 MiB
	Compilation   time.Duration // time to compile a module; 1 min
	RunningCalls  int           // concurrent steps of all plugins, further steps wait; twice the number of CPUs
	IdleInstances int           // pooled instances of a plugin; twice the number of CPUs
	GrowthMiB     int           // memory that an idle instance may hold beyond its initial size; 16
}

// Effective returns the limits with defaults filled in. It fails on values that New
// would reject.
func (l Limits) Effective() (Limits, error) {
	o, err := (&Options{Limits: l}).validate()
	return o.Limits, err
}

const maxMemoryMiB = 4095 // the 32-bit address space, less the additional page of the runtime's limit

func (o *Options) validate() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	l := &v.Limits
	for _, f := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"StepTimeout", &l.StepTimeout, 5 * time.Second},
		{"Compilation", &l.Compilation, time.Minute},
	} {
		if *f.value < 0 {
			return v, fmt.Errorf("engine: Limits.%s is %v; it must not be negative", f.name, *f.value)
		}
		*f.value = cmp.Or(*f.value, f.def)
	}
	for _, f := range []struct {
		name     string
		value    *int
		def, max int
	}{
		{"Fuel", &l.Fuel, 4_000_000_000, 1 << 53},
		{"MemoryMiB", &l.MemoryMiB, 64, maxMemoryMiB},
		{"HostCalls", &l.HostCalls, 1000, 1 << 30},
		{"InMiB", &l.InMiB, 32, maxMemoryMiB / 4},
		{"OutMiB", &l.OutMiB, 8, maxMemoryMiB / 4},
		{"LogLines", &l.LogLines, 256, 1 << 30},
		{"ModuleBytes", &l.ModuleBytes, 32 << 20, 1 << 30},
		{"RunningCalls", &l.RunningCalls, 2 * runtime.GOMAXPROCS(0), 1 << 20},
		{"IdleInstances", &l.IdleInstances, 2 * runtime.GOMAXPROCS(0), 1 << 20},
		{"GrowthMiB", &l.GrowthMiB, 16, maxMemoryMiB},
	} {
		if *f.value == 0 {
			*f.value = f.def
		}
		if *f.value < 0 || *f.value > f.max {
			return v, fmt.Errorf("engine: Limits.%s is %d; it must be from 1 to %d", f.name, *f.value, f.max)
		}
	}
	return v, nil
}
