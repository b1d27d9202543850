package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// with opens the database, as its owner or as a client of its owner, calls fn, and closes
// the database.
func (a *app) with(ctx context.Context, fn func(*gateway.Database) error) error {
	o, err := a.options()
	if err != nil {
		return err
	}
	db, err := gateway.Join(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close(ctx))
}

// options returns the database, the settings and the plugin that the flags, the environment
// and the configuration select.
func (a *app) options() (*gateway.Options, error) {
	o := &gateway.Options{
		BuiltIn: wasm.Parley, CacheDir: a.cacheDir(), Version: version(), Command: a.command,
		LongRunning: a.command == "serve" || a.command == "mcp", Timeout: a.OwnerTimeout,
		Local:      func(g *gateway.Gateway) gateway.FrontEnd { return httpapi.NewLocal(g, g, a.log) },
		Supervisor: supervisor(), Note: func(text string) { a.note("%s", terminal.Line(text)) }, Logger: a.log,
	}
	o.Agree = func(s *local.Status) error { return a.checkOwner(o, s) }
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
	return o, nil
}

// supervisor returns the command line that starts the programs of agents (see supervise).
func supervisor() []string {
	self, err := os.Executable()
	if err != nil {
		return nil // runs of command agents fail with an error
	}
	return []string{self, supervise}
}

// checkOwner refuses --plugin and --config flags that differ from the plugin and the
// configuration of the owner: a client uses those of the owner.
func (a *app) checkOwner(o *gateway.Options, s *local.Status) error {
	switch {
	case o.Plugin != nil && module.Digest(o.Plugin.Wasm) != s.Plugin.Digest:
		return fmt.Errorf("--plugin %s: process %d owns %s and runs another plugin, %s %s (%.12s): omit --plugin, or change the plugin with parley plugin swap",
			o.Plugin.Origin, s.PID, o.Store.Location(), s.Plugin.Name, s.Plugin.Version, s.Plugin.Digest)
	case a.Config != "" && o.ConfigFile != s.Config:
		return fmt.Errorf("--config %s: process %d owns %s with %s: omit --config, or stop that process",
			o.ConfigFile, s.PID, o.Store.Location(), cmp.Or(s.Config, "the default settings"))
	}
	return nil
}

// configFile returns the path of the configuration, or "" if none is given and the
// default file does not exist.
func (a *app) configFile() (string, error) {
	if a.Config != "" {
		return filepath.Abs(a.Config)
	}
	dir, err := a.xdg("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return "", nil // no directory, so no default file
	}
	path := filepath.Join(dir, "parley", "parley.json5")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return path, nil
}

// loadConfig reads the configuration at a path that configFile returned.
func loadConfig(path string) (*config.Config, error) {
	if path == "" {
		return config.Default(), nil
	}
	return config.Load(path)
}

// database returns the path of the database. It creates the default directory. It does not
// create a directory that the user names, because the name may be mistyped.
func (a *app) database(c *config.Config) (string, error) {
	switch {
	case a.DB != "":
		return a.DB, nil
	case c.Store.Path != "":
		return c.Store.Path, nil
	}
	state, err := a.xdg("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", fmt.Errorf("no default path for the database (%w): name one with --db FILE", err)
	}
	dir := filepath.Join(state, "parley")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot create the directory of the database: %w: name a database with --db FILE", err)
	}
	return filepath.Join(dir, "parley.db"), nil
}

// cacheDir returns the cache directory of compiled modules, or "" if it cannot be created.
func (a *app) cacheDir() string {
	dir, err := a.xdg("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "parley", "modules")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		a.log.Info("no cache for compiled modules", "error", err)
		return ""
	}
	return dir
}

func (a *app) xdg(variable, fallback string) (string, error) {
	if dir := a.getenv(variable); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := a.getenv("HOME")
	if home == "" {
		return "", fmt.Errorf("neither %s nor HOME is set", variable)
	}
	return filepath.Join(home, fallback), nil
}
