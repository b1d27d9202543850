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

// Options configure a Host. Only Store is required; the zero value of
// every other field is its default. New copies the struct at once.
type Options struct {
	// Store holds the sessions. Tools that write need a store.Durable. The embedder
	// must close it, after the Host.
	Store store.Store
	// Runners returns the runner that executes an agent's runs, instead of the configured
	// ones. The runner must not be nil. If Runners fails, the run fails with its error.
	// nil: the configured runners.
	Runners func(agentID string) (runner.Runner, error)
	// Sinks returns the sink for a channel, instead of the configured ones. If it fails,
	// the delivery fails with its error. nil: the configured sinks.
	Sinks func(channel string) (sink.Sink, error)
	// Supervisor is the command that starts the programs of runners of kind "command",
	// such as "parley runner-exec". nil: this executable with the argument "runner-exec".
	Supervisor []string
	// URL returns the address at which agents in other processes reach the tools. nil,
	// or an empty result: they cannot reach them.
	URL func() string
	// OnWait is called before Call, WaitFlow or WaitRun waits; if it fails, they return
	// its error. A program that starts the host only when there is work calls Start in
	// it. May be nil.
	OnWait func() error
	// Shared must be set if other processes use the same store. Start then does not take
	// over their work; their claims end when their leases expire.
	Shared bool
	// BuiltIn is the plugin built into the program, if New receives another one.
	BuiltIn []byte
	// Origin describes where the plugin given to New came from. Empty: the plugin is
	// built into the program; module.Open has other rules for such plugins.
	Origin string
	// Signature is the signature of the plugin given to New; nil: it is unsigned.
	Signature []byte
	// Config holds the initial settings; nil: the defaults. See Host.Configure.
	Config *config.Config
	// CacheDir is the folder that caches compiled modules. With a cached module, a start
	// takes milliseconds. Empty: each start compiles the module.
	CacheDir string
	// Limits bound the resources of a step; zero fields have defaults.
	Limits Limits
	// Effects bound the work that a step may queue; zero fields have defaults.
	Effects EffectLimits
	// Logger; nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// NewID generates the ids of flows, of calls without an id, and of runs and sessions
	// that inbound messages create; nil: random ids.
	NewID func() string
	// Observe is called with the recording of every step. It must be safe for
	// concurrent use. nil: nothing is recorded.
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
