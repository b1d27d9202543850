package host

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// Options say what a Host works with. Only Store is required; the zero value of
// every other field is its default. New copies the struct at once.
type Options struct {
	// Store holds the sessions. Tools that write need a store.Durable. Whoever
	// opened it closes it, after the Host.
	Store store.Store
	// Runners returns what executes the runs of an agent; its error is the run's. nil: the runners
	// of the configuration.
	Runners func(agentID string) (runner.Runner, error)
	// Sinks posts to a channel; its error is the delivery's. nil: the sinks of the
	// configuration.
	Sinks func(channel string) (sink.Sink, error)
	// Supervisor is the command that agents of the kind "command" are started
	// through: the program that calls command.Supervise.
	Supervisor []string
	// URL returns the address under which agents that are programs of their own
	// reach the tools; nil, or an empty answer: nowhere.
	URL func() string
	// OnWait is called before a call waits for an answer, WaitFlow for a flow or WaitRun
	// for a run; its error is that of the call. A program that starts the host only when there is work
	// calls Start here. nil: nothing is called.
	OnWait func() error
	// Shared says that other processes use the same store. Then their claims end
	// with their leases, and not at Start.
	Shared bool
	// BuiltIn is the plugin that came with the program, if New is given another one.
	BuiltIn []byte
	// Origin says where the plugin given to New came from; empty: it is built into the
	// program, which is of consequence (module.Open).
	Origin string
	// Signature is that of the plugin given to New; nil: it has none.
	Signature []byte
	// Config are the settings in force at first; nil: the defaults. See
	// Host.Configure.
	Config *config.Config
	// CacheDir keeps compiled modules, so that a start takes milliseconds; empty:
	// each start compiles anew.
	CacheDir string
	// Limits bound what a step may use; zero fields have defaults.
	Limits Limits
	// Effects bound what a step may set going; zero fields have defaults.
	Effects EffectLimits
	// Logger; nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// NewID makes the ids of calls whose caller gave none, of flows, and of runs and
	// sessions that messages from outside begin; nil: random ones.
	NewID func() string
	// Observe is called with the conversation of every step, for recording; it
	// must be safe for concurrent use. nil: nothing is recorded.
	Observe func(*StepRecord)
}

func (o *Options) validate() (Options, error) {
	if o == nil || o.Store == nil {
		return Options{}, errors.New("host: Options.Store is required")
	}
	v := *o
	if v.Origin == "" {
		v.Origin = store.OriginBuiltIn
	}
	if v.Config == nil {
		v.Config = config.Default()
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	if v.Now == nil {
		v.Now = time.Now
	}
	if v.URL == nil {
		v.URL = func() string { return "" }
	}
	if v.OnWait == nil {
		v.OnWait = func() error { return nil }
	}
	if v.NewID == nil {
		v.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	return v, nil
}
