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

// Options say which database a process opens, under which settings, with which
// plugin, and what it is to others. Store, Config, BuiltIn and Local are required;
// the zero value of every other field is its default. Own and Join copy the struct.
type Options struct {
	Store      store.Backend // must be one whose stores have an owner
	Config     *config.Config
	ConfigFile string          // that Config was read from; "" = none
	Plugin     *host.Candidate // to serve instead of the version that was active; nil = none
	BuiltIn    []byte          // the plugin that came with the program
	CacheDir   string          // for compiled modules; "" = each start compiles anew

	Version string        // of this program, for others to read
	Command string        // what this process does, for others to read
	Stays   bool          // it runs until it is told to end
	Timeout time.Duration // how long an owner may take to answer; 0 = local.DefaultTimeout
	// Agree fails when this process must not be a client of an owner with this status.
	// nil: it may be one of every owner.
	Agree func(*local.Status) error

	// Local makes the front end that other processes of the user reach over the socket.
	Local func(*Gateway) Front
	// Supervisor is the command that starts the programs of agents (host.Options).
	Supervisor []string
	// Note shows a remark to the person who started the process; nil: nobody reads them.
	Note   func(text string)
	Logger *slog.Logger // nil: slog.Default()
}

func (o *Options) validate() (*Options, error) {
	if o == nil || o.Store == nil || o.Config == nil || o.BuiltIn == nil || o.Local == nil {
		return nil, errors.New("gateway: Options.Store, Config, BuiltIn and Local are required")
	}
	if o.Store.Ownership() == nil {
		return nil, fmt.Errorf("gateway: %s: a store of kind %s has no owner, and a gateway must own its database", o.Store.Location(), o.Store.Kind())
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

// Front answers the requests of a front end. Close ends what they wait for.
type Front interface {
	http.Handler
	Close()
}

const (
	// Notice is how long something that people wait for may take before they are told.
	Notice = time.Second
	// closeGrace is how long what is under way may take when the owner is told to end.
	closeGrace = 10 * time.Second
)

// patience is how long an owner that was told to end may take until it is gone.
func (o *Options) patience() time.Duration { return closeGrace + o.Timeout }

func (o *Options) local() *local.Options {
	return &local.Options{
		Version: o.Version, Command: o.Command, Stays: o.Stays, Timeout: o.Timeout, Patience: o.patience(), Logger: o.Logger,
	}
}

// Limits are the sandbox's bounds as configured, and those of what a step sets going.
func Limits(c *config.Config) (host.Limits, host.EffectLimits) {
	l := &c.Plugins.Limits
	return host.Limits{
		Fuel: l.Fuel, StepTimeout: time.Duration(l.StepTimeoutMs) * time.Millisecond, MemoryMiB: l.MemoryMiB,
		HostCalls: l.HostCalls, InMiB: l.InMiB, OutMiB: l.OutMiB, LogLines: l.LogLines,
	}, host.EffectLimits{Runs: l.Runs, Deliveries: l.Deliveries}
}
