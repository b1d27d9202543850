package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store"
)

// Options configures Own and Join: the database, the settings, the plugin, and the
// description of this process for others. Store, Config, BuiltIn and Local are required;
// the zero value of every other field is its default. Own and Join copy the struct.
type Options struct {
	Store      store.Backend // its Ownership must not be nil
	Config     *config.Config
	ConfigFile string           // file that Config was read from; "" = none
	Plugin     *host.PluginFile // module to activate; nil = the watched file, or the last active version
	BuiltIn    []byte           // the module that is built into the program
	CacheDir   string           // for compiled modules; "" = each start compiles again

	Version     string        // of this program, shown to other processes
	Command     string        // parley command of this process, shown to other processes
	LongRunning bool          // this process runs until it is stopped
	Timeout     time.Duration // for an owner to answer; 0 = local.DefaultTimeout
	// Agree returns an error if this process must not be a client of an owner with this
	// status; nil: every owner is accepted.
	Agree func(*local.Status) error

	// Local makes the front end that serves the user's other processes over the socket.
	Local func(*Gateway) FrontEnd
	// Supervisor is the command that starts the programs of agents (host.Options).
	Supervisor []string
	// Note shows a message to the user who started the process; nil: messages are
	// discarded.
	Note   func(text string)
	Logger *slog.Logger // nil: slog.Default()
}

func (o *Options) validate() (*Options, error) {
	if o == nil || o.Store == nil || o.Config == nil || o.BuiltIn == nil || o.Local == nil {
		return nil, errors.New("gateway: Options.Store, Config, BuiltIn and Local are required")
	}
	if o.Store.Ownership() == nil {
		return nil, fmt.Errorf("gateway: %s: a store of kind %s cannot have an owner, and a gateway must own its database", o.Store.Location(), o.Store.Kind())
	}
	v := *o
	if v.Timeout == 0 {
		v.Timeout = local.DefaultTimeout
	}
	if v.Agree == nil {
		v.Agree = func(*local.Status) error { return nil }
	}
	if v.Note == nil {
		v.Note = func(string) {}
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	return &v, nil
}

// FrontEnd is the handler of a front end. Close cancels its waiting requests.
type FrontEnd interface {
	http.Handler
	Close()
}

const (
	// NoticeDelay is the delay after which the user is notified that an operation is waiting.
	NoticeDelay = time.Second
	// closeGrace is how long work in progress may continue after an interrupt.
	closeGrace = 10 * time.Second
)

// shutdownTimeout is how long an owner that is shutting down may take to exit.
func (o *Options) shutdownTimeout() time.Duration { return closeGrace + o.Timeout }

func (o *Options) local() *local.Options {
	return &local.Options{
		Version: o.Version, Command: o.Command, LongRunning: o.LongRunning, Timeout: o.Timeout, ShutdownTimeout: o.shutdownTimeout(), Logger: o.Logger,
	}
}

// Limits returns the configured limits of the sandbox and of the effects of a step.
func Limits(c *config.Config) (host.Limits, host.EffectLimits) {
	l := &c.Plugins.Limits
	return host.Limits{
		Fuel: l.Fuel, StepTimeout: time.Duration(l.StepTimeoutMs) * time.Millisecond, MemoryMiB: l.MemoryMiB,
		HostCalls: l.HostCalls, InMiB: l.InMiB, OutMiB: l.OutMiB, LogLines: l.LogLines,
	}, host.EffectLimits{Runs: l.Runs, Deliveries: l.Deliveries}
}
