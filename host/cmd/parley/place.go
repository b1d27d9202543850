package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/parley-wasm/parley/host/gateway"
	httpapi "github.com/parley-wasm/parley/host/gateway/http"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// with opens the database for fn, in whichever process owns it, and closes it.
func (a *app) with(ctx context.Context, fn func(*gateway.Database) error) error {
	db, err := a.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close(ctx))
}

func (a *app) open(ctx context.Context) (*gateway.Database, error) {
	o, err := a.locate()
	if err != nil {
		return nil, err
	}
	return gateway.Join(ctx, o)
}

// locate finds the database, settings and plugin that flags, environment and
// configuration name.
func (a *app) locate() (*gateway.Options, error) {
	o := a.options()
	var err error
	if o.ConfigFile, err = a.configFile(); err != nil {
		return nil, err
	}
	if o.Config, err = loadConfig(o.ConfigFile); err != nil {
		return nil, err
	}
	path, err := a.database(o.Config)
	if err != nil {
		return nil, err
	}
	if o.Store, err = sqlite.NewBackend(path, nil); err != nil {
		return nil, err
	}
	if a.Plugin != "" {
		if o.Plugin, err = gateway.ReadPlugin(a.Plugin, ""); err != nil {
			return nil, err
		}
	}
	o.Agree = func(s *local.Status) error { return a.agrees(o, s) }
	return o, nil
}

// options are those of every database that this command opens.
func (a *app) options() *gateway.Options {
	return &gateway.Options{
		BuiltIn: wasm.Parley, CacheDir: a.cacheDir(), Version: version(), Command: a.command,
		Stays: a.command == "serve" || a.command == "mcp", Timeout: a.OwnerTimeout,
		Local:      func(g *gateway.Gateway) gateway.Front { return httpapi.NewLocal(g, g, a.log) },
		Supervisor: supervisor(), Note: func(text string) { a.note("%s", terminal.Line(text)) }, Logger: a.log,
	}
}

// supervisor is the command that starts the programs of agents: this program.
func supervisor() []string {
	self, err := os.Executable()
	if err != nil {
		return nil // agents that are programs of their own fail, and say so
	}
	return []string{self, supervise}
}

// agrees makes sure that a client which asks for settings or a plugin by name
// does not silently get the owner's.
func (a *app) agrees(o *gateway.Options, s *local.Status) error {
	switch {
	case o.Plugin != nil && module.Digest(o.Plugin.Wasm) != s.Plugin.Digest:
		return fmt.Errorf("--plugin %s: process %d owns %s and runs another plugin, %s %s (%.12s): leave --plugin out, or let parley plugin swap change it",
			o.Plugin.Origin, s.PID, o.Store.Location(), s.Plugin.Name, s.Plugin.Version, s.Plugin.Digest)
	case a.Config != "" && o.ConfigFile != s.Config:
		return fmt.Errorf("--config %s: process %d owns %s under %s: leave --config out, or stop that process",
			o.ConfigFile, s.PID, o.Store.Location(), orElse(s.Config, "the default settings"))
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
