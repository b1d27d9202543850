package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// inspectCmd shows the properties of a module.
type inspectCmd struct {
	File string `arg:"" help:"The module, such as plugin/wasm/parley.wasm."`
}

func (*inspectCmd) Help() string {
	return "The module is loaded into the sandbox and its describe export is called; no tool is called. The exit code is 1 if the module cannot serve as the plugin."
}

// inspection is the output of --json.
type inspection struct {
	File string `json:"file"`
	*engine.Inspection
	Usable  bool       `json:"usable"`
	Problem string     `json:"problem,omitempty"`
	ABI     int        `json:"abi,omitempty"`
	Name    string     `json:"name,omitempty"`
	Version string     `json:"version,omitempty"`
	Tools   []toolInfo `json:"tools"`
	// Capabilities are the host functions that the plugin requests. Denied are the requested
	// ones that plugins.allow does not include.
	Capabilities []string        `json:"capabilities"`
	Denied       []string        `json:"withheld,omitempty"`
	Limits       effectiveLimits `json:"limits"`
}

type toolInfo struct {
	Name     string   `json:"name"`
	ReadOnly bool     `json:"readOnly"`
	Needs    []string `json:"needs"`
}

// effectiveLimits are the limits of a step under the current configuration. Their JSON
// names are those of plugins.limits.
type effectiveLimits struct {
	Fuel          int   `json:"fuel"`
	MemoryMiB     int   `json:"memoryMiB"`
	StepTimeoutMs int64 `json:"stepTimeoutMs"`
	HostCalls     int   `json:"hostCalls"`
	InMiB         int   `json:"inMiB"`
	OutMiB        int   `json:"outMiB"`
	LogLines      int   `json:"logLines"`
	Runs          int   `json:"runs"`
	Deliveries    int   `json:"deliveries"`
	ModuleBytes   int   `json:"moduleBytes"`
}

func (l *effectiveLimits) String() string {
	return fmt.Sprintf("%s of fuel, %d MiB of memory, %d ms, %d host calls, %d MiB in, %d MiB out, %d log lines, %d runs, %d deliveries a step",
		terminal.Count(int64(l.Fuel)), l.MemoryMiB, l.StepTimeoutMs, l.HostCalls, l.InMiB, l.OutMiB, l.LogLines, l.Runs, l.Deliveries)
}

func (c *inspectCmd) Run(ctx context.Context, a *app) error {
	wasm, settings, err := a.readModule(c.File)
	if err != nil {
		return err
	}
	i := &inspection{File: c.File, Tools: []toolInfo{}, Capabilities: []string{}}
	if i.Inspection, err = engine.Inspect(wasm); err != nil {
		return gateway.PluginError(c.File, err)
	}
	problem := i.load(ctx, a, wasm, settings)
	if err := a.show(i, func() { a.showInspection(i) }); err != nil || problem == nil {
		return err
	}
	return gateway.PluginError(c.File, problem)
}

// load loads the module as the gateway does and fills in the limits and the description.
func (i *inspection) load(ctx context.Context, a *app, wasm []byte, c *config.Config) error {
	use, effects := gateway.Limits(c)
	l, err := use.Effective()
	if err != nil {
		return err
	}
	effects = effects.Effective()
	i.Limits = effectiveLimits{
		l.Fuel, l.MemoryMiB, l.StepTimeout.Milliseconds(), l.HostCalls, l.InMiB, l.OutMiB, l.LogLines,
		effects.Runs, effects.Deliveries, l.ModuleBytes,
	}
	err = a.withPlugin(ctx, wasm, c, func(_ *engine.Plugin, about *abi.Description) error {
		i.describe(about, &c.Plugins)
		return nil
	})
	if i.Usable = err == nil; err != nil {
		i.Problem = terminal.Line(err.Error())
	}
	return err
}

func (i *inspection) describe(d *abi.Description, p *config.Plugins) {
	i.ABI, i.Name, i.Version = d.ABI, d.Name, d.Version
	i.Capabilities = append(i.Capabilities, d.Capabilities...)
	for _, c := range d.Capabilities {
		if !p.Allows(c) {
			i.Denied = append(i.Denied, c)
		}
	}
	for _, t := range d.Tools {
		i.Tools = append(i.Tools, toolInfo{t.Name, t.ReadOnly, append([]string{}, t.Needs...)})
	}
}

func (a *app) showInspection(i *inspection) {
	usable, plugin := a.out.Bad("no")+"  "+i.Problem, ""
	if i.Usable {
		usable, plugin = a.out.Good("yes"), terminal.Line(fmt.Sprintf("%s %s, ABI %d", i.Name, i.Version, i.ABI))
	}
	fields := [][2]string{
		{"usable", usable},
		{"plugin", plugin},
		{"requests", strings.Join(i.Capabilities, ", ")},
		{"denied", denied(i.Denied)},
		{"size", terminal.Count(int64(i.Size)) + " bytes"},
		{"sha256", i.SHA256},
		{"memory", i.memory()},
		{"limits", i.Limits.String()},
		{"imports", lines(i.Imports)},
		{"exports", lines(i.Exports)},
	}
	for _, t := range i.Tools {
		mode := "writes"
		if t.ReadOnly {
			mode = "read-only"
		}
		fields = append(fields, [2]string{"tool", terminal.Line(fmt.Sprintf("%s (%s; needs %s)", t.Name, mode, cmp.Or(strings.Join(t.Needs, ", "), "nothing")))})
	}
	a.out.Println(a.out.Bold(terminal.Line(i.File)))
	a.out.Fields(fields...)
}

func (i *inspection) memory() string {
	if i.Memory == nil {
		return "none"
	}
	text := pages(i.Memory.Min) + " at start"
	if i.Memory.Max > 0 {
		text += ", at most " + pages(i.Memory.Max)
	}
	return text
}

// pages formats a size given in pages of 64 KiB.
func pages(n uint64) string { return fmt.Sprintf("%d KiB", n*64) }

func lines(list []string) string {
	return cmp.Or(strings.Join(mapStrings(list, terminal.Line), "\n"), "none")
}
