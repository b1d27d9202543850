package host

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/step"
	"github.com/parley-wasm/parley/host/store"
)

// Options say what a Host works with. Only Store is required; the zero value of
// every other field is its default. New copies the struct at once.
type Options struct {
	// Store holds the sessions. Whoever opened it closes it, after the Host.
	Store store.Store
	// Agents answers the plugin's questions about agent runs; nil: there are none.
	Agents step.Agents
	// Config are the settings in force at first; nil: the defaults. See
	// Host.Configure.
	Config *config.Config
	// CacheDir keeps compiled modules, so that a start takes milliseconds; empty:
	// each start compiles anew.
	CacheDir string
	// Limits bound a step; zero fields have defaults.
	Limits engine.Limits
	// Logger; nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// NewID makes the ids of calls whose caller gave none; nil: random ones.
	NewID func() string
	// Observe is called with the conversation of every step, for recording; it
	// must be safe for concurrent use. nil: nothing is recorded.
	Observe func(*step.Record)
}

func (o *Options) validate() (Options, error) {
	if o == nil || o.Store == nil {
		return Options{}, errors.New("host: Options.Store is required")
	}
	v := *o
	if v.Config == nil {
		v.Config = config.Default()
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	if v.Now == nil {
		v.Now = time.Now
	}
	if v.NewID == nil {
		v.NewID = rand.Text
	}
	return v, nil
}
