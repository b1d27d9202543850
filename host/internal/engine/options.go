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

// Options say how an Engine works. The zero value of every field is its default;
// New copies the struct at once.
type Options struct {
	// CacheDir keeps compiled modules, so that loading one again takes
	// milliseconds. What lies in it is executed: it must be writable only by the
	// user who runs the program. It is made if it is missing. Empty: nothing is
	// kept.
	CacheDir string
	// Limits bound what a plugin may use.
	Limits Limits
	// EnvironmentOnly moves all bytes through the Extism environment, as other hosts
	// do, though a plugin offers the direct way.
	EnvironmentOnly bool
	// Logger gets what plugins log, and panics of host functions; nil:
	// slog.Default().
	Logger *slog.Logger

	// wasi instantiates WASI for modules to import: for tests of what other compilers
	// make of a plugin.
	wasi func(context.Context, wazero.Runtime) error
}

// Limits bound a plugin. Zero fields have the defaults named here. Those of a step
// bound the start function and describe too.
type Limits struct {
	Fuel          int           // units of a step, about one an instruction (wasmedit.Module.Harden); 4 billion
	StepTimeout   time.Duration // of a step, host functions included; 5 s
	MemoryMiB     int           // memory of one instance; 64, at most 4095
	HostCalls     int           // calls of host functions in a step; 1,000
	InMiB         int           // input and replies of host functions in a step; 32
	OutMiB        int           // output and requests to host functions in a step; 8
	LogLines      int           // in a step; 256
	ModuleBytes   int           // size of a module; 32 MiB
	Compilation   time.Duration // of a module, all its functions together; 1 min
	RunningCalls  int           // steps of all plugins that run at once, the others wait their turn; twice the number of CPUs
	IdleInstances int           // instances of a plugin that are kept for the next step; twice the number of CPUs
	GrowthMiB     int           // memory beyond its first that an idle instance may hold; 16
}

// Effective returns the limits with the defaults filled in. It fails on values
// that New would refuse.
func (l Limits) Effective() (Limits, error) {
	o, err := (&Options{Limits: l}).validate()
	return o.Limits, err
}

const maxMemoryMiB = 4095 // what 32 bits address, but for the page that the runtime's own limit needs more

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
