package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/host/config"
)

// configFile returns the configuration's path, or "" when none is given and
// there is none in the usual place.
func (a *app) configFile() (string, error) {
	if a.Config != "" {
		return filepath.Abs(a.Config)
	}
	dir, err := a.xdg("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return "", nil // nowhere to look is nothing to find
	}
	path := filepath.Join(dir, "parley", "parley.json5")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return path, nil
}

// loadConfig reads the configuration that configFile found.
func loadConfig(path string) (*config.Config, error) {
	if path == "" {
		return config.Default(), nil
	}
	return config.Load(path)
}

// database returns the database's path. The default's directory is made, one
// that was named is not: it may be a slip.
func (a *app) database(c *config.Config) (string, error) {
	switch {
	case a.DB != "":
		return a.DB, nil
	case c.Store.Path != "":
		return c.Store.Path, nil
	}
	state, err := a.xdg("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", fmt.Errorf("there is no place for the database (%w): name one with --db FILE", err)
	}
	dir := filepath.Join(state, "parley")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make the directory of the database: %w: name a database with --db FILE", err)
	}
	return filepath.Join(dir, "parley.db"), nil
}

// cacheDir returns where compiled modules are kept, or "" for nowhere.
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
