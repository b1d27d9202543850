package engine

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"
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
	// Logger gets what plugins log, and panics of host functions; nil:
	// slog.Default().
	Logger *slog.Logger

	// uninterruptible leaves deadlines out, for the benchmark of their cost.
	uninterruptible bool
}

// Limits bound a plugin. Zero fields have the defaults named here.
type Limits struct {
	StepTimeout      time.Duration // of one call, host functions included, and of the start function; 5 s
	RunningCalls     int           // calls of all plugins that run at once, the others wait their turn; twice the number of CPUs
	MemoryMiB        int           // memory of one instance; 64, at most 4096
	EnvironmentMiB   int           // what one call moves through the Extism environment: input, output, host functions; 64
	OutputBytes      int           // output of one call; 4 MiB
	ModuleBytes      int           // size of a module; 32 MiB
	IdleInstances    int           // instances of a plugin that are kept for the next call; twice the number of CPUs
	CallsPerInstance int           // calls before an instance is replaced; 10,000
	GrowthMiB        int           // memory growth after which an instance is replaced; 16
}

// Effective returns the limits with the defaults filled in. It fails on values
// that New would refuse.
func (l Limits) Effective() (Limits, error) {
	o, err := (&Options{Limits: l}).validate()
	return o.Limits, err
}

const maxMemoryMiB = 4096 // what 32 bits address

func (o *Options) validate() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	l := &v.Limits
	if l.StepTimeout < 0 {
		return v, fmt.Errorf("engine: Limits.StepTimeout is %v; it must not be negative", l.StepTimeout)
	}
	if l.StepTimeout == 0 {
		l.StepTimeout = 5 * time.Second
	}
	for _, f := range []struct {
		name     string
		value    *int
		def, max int
	}{
		{"RunningCalls", &l.RunningCalls, 2 * runtime.GOMAXPROCS(0), 1 << 20},
		{"MemoryMiB", &l.MemoryMiB, 64, maxMemoryMiB},
		{"EnvironmentMiB", &l.EnvironmentMiB, 64, maxMemoryMiB / 2},
		{"OutputBytes", &l.OutputBytes, 4 << 20, 1 << 30},
		{"ModuleBytes", &l.ModuleBytes, 32 << 20, 1 << 30},
		{"IdleInstances", &l.IdleInstances, 2 * runtime.GOMAXPROCS(0), 1 << 20},
		{"CallsPerInstance", &l.CallsPerInstance, 10_000, 1 << 30},
		{"GrowthMiB", &l.GrowthMiB, 16, maxMemoryMiB - 1},
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
