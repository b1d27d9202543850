package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// pluginListCmd lists the versions of the plugin.
type pluginListCmd struct {
	History bool `help:"Which version served since when, newest first, and why."`
}

func (*pluginListCmd) Help() string {
	return `active: serves new calls. loaded: goes on with flows that the active one cannot go on with, or may take over again soon after a swap. stored: can be gone back to, with parley plugin swap --digest. Those that nothing needs are removed but for the last ten that were active.`
}

// Run lists them.
func (c *pluginListCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		all, err := db.Plugins(ctx)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.printValue(all)
		case c.History:
			a.showActivations(all, time.Now())
		default:
			a.showVersions(all.Versions, time.Now())
		}
		return nil
	})
}

func (a *app) showVersions(rows []*host.Plugin, now time.Time) {
	cells := make([][]string, len(rows))
	for i, p := range rows {
		status := terminal.Line(p.Status)
		if p.Status == host.PluginActive {
			status = a.out.Good(status)
		}
		added := ""
		if p.AddedAt > 0 {
			added = age(now, p.AddedAt)
		}
		cells[i] = []string{
			fmt.Sprintf("%.12s", p.Digest), terminal.Line(p.Name + " " + p.Version), status, strconv.Itoa(p.Flows),
			fmt.Sprintf("%d, reads %d-%d", p.StateVersion, p.Resumes[0], p.Resumes[1]), terminal.Line(orElse(p.Signer, "nobody")), added,
		}
	}
	a.out.Table([]string{"DIGEST", "PLUGIN", "STATUS", "FLOWS", "STATES", "SIGNED BY", "ADDED"}, cells)
}

func (a *app) showActivations(all *host.Plugins, now time.Time) {
	if len(all.History) == 0 {
		a.note("no history yet")
		return
	}
	cells := make([][]string, len(all.History))
	for i, h := range all.History {
		name := ""
		if n := slices.IndexFunc(all.Versions, func(p *host.Plugin) bool { return p.Digest == h.Digest }); n >= 0 {
			name = all.Versions[n].Name + " " + all.Versions[n].Version
		}
		cells[i] = []string{age(now, h.At), fmt.Sprintf("%.12s", h.Digest), terminal.Line(name), brief(origin(h))}
	}
	a.out.Table([]string{"SINCE", "DIGEST", "PLUGIN", "FROM"}, cells)
}

func origin(h *store.Activation) string { return strings.TrimSuffix(h.Origin+": "+h.Reason, ": ") }
