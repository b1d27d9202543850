package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway/owner"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/step"
)

// place is which database, under which settings, with which plugin.
type place struct {
	database   string
	configFile string // "" = none
	config     *config.Config
	plugin     *host.Candidate // of a flag; nil = none

	namedConfig bool // by a flag
}

// locate finds the place that flags, environment and configuration name.
func (a *app) locate() (*place, error) {
	p := &place{namedConfig: a.Config != ""}
	var err error
	if p.configFile, err = a.configFile(); err != nil {
		return nil, err
	}
	if p.config, err = loadConfig(p.configFile); err != nil {
		return nil, err
	}
	if p.database, err = a.database(p.config); err != nil {
		return nil, err
	}
	if p.database, err = filepath.Abs(p.database); err != nil {
		return nil, err
	}
	if a.Plugin != "" {
		if p.plugin, err = readPlugin(a.Plugin, ""); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// agrees makes sure that a client which asks for settings or a plugin by name
// does not silently get the owner's.
func (p *place) agrees(s *ownerapi.Status) error {
	switch {
	case p.plugin != nil && module.Digest(p.plugin.Wasm) != s.Plugin.Digest:
		return fmt.Errorf("--plugin %s: process %d owns %s and runs another plugin, %s %s (%.12s): leave --plugin out, or let parley plugin swap change it",
			p.plugin.Origin, s.PID, p.database, s.Plugin.Name, s.Plugin.Version, s.Plugin.Digest)
	case p.namedConfig && p.configFile != s.Config:
		return fmt.Errorf("--config %s: process %d owns %s under %s: leave --config out, or stop that process",
			p.configFile, s.PID, p.database, orElse(s.Config, "the default settings"))
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// patience is how long an owner that was told to end may take until it is gone.
func (a *app) patience() time.Duration { return closeGrace + a.OwnerTimeout }

func (a *app) ownerOptions() *owner.Options {
	return &owner.Options{
		Version: version(), Command: a.command, Timeout: a.OwnerTimeout, Patience: a.patience(), Logger: a.log,
	}
}

// limits are the sandbox's bounds as configured, and those of what a step sets going.
func limits(c *config.Config) (engine.Limits, step.Limits) {
	l := &c.Plugins.Limits
	return engine.Limits{
		Fuel: l.Fuel, StepTimeout: time.Duration(l.StepTimeoutMs) * time.Millisecond, MemoryMiB: l.MemoryMiB,
		HostCalls: l.HostCalls, InMiB: l.InMiB, OutMiB: l.OutMiB, LogLines: l.LogLines,
	}, step.Limits{Runs: l.Runs, Deliveries: l.Deliveries}
}
