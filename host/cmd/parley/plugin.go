package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// pluginCmd groups the commands for plugin modules.
type pluginCmd struct {
	Inspect inspectCmd    `cmd:"" help:"Show a module's properties, and whether the module can serve as the plugin."`
	List    pluginListCmd `cmd:"" help:"List the versions of the plugin in the database."`
	Swap    swapCmd       `cmd:"" help:"Activate another version of the plugin, while the gateway runs."`
	Verify  verifyCmd     `cmd:"" help:"Check a module against the conformance vectors of the specification."`
}

// pluginListCmd lists the versions of the plugin.
type pluginListCmd struct {
	History bool `help:"List the activations instead, newest first: the time, the version and the reason."`
}

func (*pluginListCmd) Help() string {
	return `active: serves new calls. loaded: resumes flows that the active version cannot resume, or stays in memory for a rollback soon after a swap. stored: can be activated again with parley plugin swap --digest. Versions that are no longer needed are removed, except the last ten active ones.`
}

// Run lists the versions or the activations.
func (c *pluginListCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		all, err := db.Plugins(ctx)
		switch {
		case err != nil:
			return err
		case c.History:
			return a.show(all, func() { a.showActivations(all, time.Now()) })
		}
		return a.show(all, func() { a.showVersions(all.Versions, time.Now()) })
	})
}

func (a *app) showVersions(rows []*host.Plugin, now time.Time) {
	header := []string{"DIGEST", "PLUGIN", "STATUS", "FLOWS", "STATES", "SIGNED BY", "ADDED"}
	table(a, header, rows, func(p *host.Plugin) []string {
		status := terminal.Line(p.Status)
		if p.Status == host.PluginActive {
			status = a.out.Good(status)
		}
		added := ""
		if p.AddedAt > 0 {
			added = age(now, p.AddedAt)
		}
		return []string{
			fmt.Sprintf("%.12s", p.Digest), terminal.Line(p.Name + " " + p.Version), status, strconv.Itoa(p.Flows),
			fmt.Sprintf("%d, reads %d-%d", p.StateVersion, p.Resumes[0], p.Resumes[1]), terminal.Line(cmp.Or(p.Signer, "unsigned")), added,
		}
	})
}

func (a *app) showActivations(all *host.Plugins, now time.Time) {
	if len(all.History) == 0 {
		a.note("no activations yet")
		return
	}
	table(a, []string{"SINCE", "DIGEST", "PLUGIN", "FROM"}, all.History, func(h *store.Activation) []string {
		name := ""
		if n := slices.IndexFunc(all.Versions, func(p *host.Plugin) bool { return p.Digest == h.Digest }); n >= 0 {
			name = all.Versions[n].Name + " " + all.Versions[n].Version
		}
		return []string{age(now, h.At), fmt.Sprintf("%.12s", h.Digest), terminal.Line(name), truncate(origin(h))}
	})
}

func origin(h *store.Activation) string { return strings.TrimSuffix(h.Origin+": "+h.Reason, ": ") }

// readModule returns the module in file and the settings with which to load it.
func (a *app) readModule(file string) ([]byte, *config.Config, error) {
	wasm, err := gateway.ReadModule(file)
	if err != nil {
		return nil, nil, err
	}
	path, err := a.configFile()
	if err != nil {
		return nil, nil, err
	}
	settings, err := loadConfig(path)
	return wasm, settings, err
}

// withPlugin loads a module as the gateway does, calls use with the plugin, and unloads it.
func (a *app) withPlugin(ctx context.Context, wasm []byte, c *config.Config, use func(*engine.Plugin, *abi.Description) error) error {
	limits, _ := gateway.Limits(c)
	e, err := engine.New(ctx, &engine.Options{CacheDir: a.cacheDir(), Limits: limits, Logger: a.log})
	if err != nil {
		return err
	}
	defer e.Close(context.WithoutCancel(ctx))
	p, err := e.Load(ctx, wasm)
	if err != nil {
		return err
	}
	about, err := module.ParseDescription(p.Describe())
	if err != nil {
		return err
	}
	return use(p, about)
}
