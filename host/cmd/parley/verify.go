package main

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/module/verify"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// verifyCmd runs the conformance vectors against a module.
type verifyCmd struct {
	File  string       `arg:"" help:"The module, such as plugin/wasm/parley.wasm."`
	Level verify.Level `enum:"all,quick" default:"all" help:"Vectors to run: ${enum}. quick runs the first vector of each kind, as a swap does by default (plugins.verify)."`
}

func (*verifyCmd) Help() string {
	return "Runs the conformance vectors that are built into this program against the module, in memory: no database, agent or channel is used. " +
		"Vectors for tools that the module does not describe are skipped. The exit code is 1 if a vector fails, or if none can be run."
}

// verification is the output of --json.
type verification struct {
	File    string       `json:"file"`
	SHA256  string       `json:"sha256"`
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Level   verify.Level `json:"level"`
	*verify.Report
	Failed int   `json:"failed"`
	TookMs int64 `json:"tookMs"`
}

func (c *verifyCmd) Run(ctx context.Context, a *app) error {
	wasm, settings, err := a.readModule(c.File)
	if err != nil {
		return err
	}
	v := &verification{File: c.File, SHA256: module.Digest(wasm), Level: c.Level}
	err = a.withPlugin(ctx, wasm, settings, func(p *engine.Plugin, about *abi.Description) error { return v.run(ctx, a, p, about) })
	if err != nil {
		return gateway.PluginError(c.File, err)
	}
	switch err := a.show(v, func() { a.showVerification(v) }); {
	case err != nil:
		return err
	case v.Failed > 0:
		return fmt.Errorf("%s: %d of %s failed: plugins.verify selects the vectors that a module must pass before a gateway activates it",
			c.File, v.Failed, terminal.Plural(v.Passed+v.Failed, "vector"))
	case v.Passed == 0:
		return fmt.Errorf("%s: no vector applies: the module describes none of the session tools", c.File)
	}
	return nil
}

// run runs the vectors and fills in v.
func (v *verification) run(ctx context.Context, a *app, p *engine.Plugin, about *abi.Description) error {
	o := &verify.Options{Level: v.Level, Tools: verify.Names(about.Tools)}
	start, progress := time.Now(), a.err.NewProgress()
	if !a.Quiet {
		o.Progress = func(done, total int) { progress.Items(done, total, "vector") }
	}
	r, err := verify.Module(ctx, p.Run, o)
	progress.Clear()
	if err != nil {
		return err
	}
	v.Name, v.Version, v.TookMs = about.Name, about.Version, time.Since(start).Milliseconds()
	v.Report, v.Failed = r, len(r.Failures)
	return nil
}

// Maximum lengths of the text output.
const (
	maxFailures = 20
	maxLines    = 5 // problems of one failure
)

func (a *app) showVerification(v *verification) {
	passed, failed, skipped := fmt.Sprint(v.Passed), fmt.Sprint(v.Failed), ""
	if v.Failed > 0 {
		failed = a.out.Bad(failed)
	} else if v.Passed > 0 {
		passed = a.out.Good(passed)
	}
	if v.Skipped > 0 {
		skipped = fmt.Sprintf("%d, for tools that the module does not describe", v.Skipped)
	}
	a.out.Println(a.out.Bold(terminal.Line(v.File)))
	a.out.Fields([][2]string{
		{"plugin", terminal.Line(fmt.Sprintf("%s %s (%.12s)", v.Name, v.Version, v.SHA256))},
		{"vectors", fmt.Sprintf("%d (%s), in %s", v.Vectors, v.Level, time.Duration(v.TookMs)*time.Millisecond)},
		{"passed", passed},
		{"failed", failed},
		{"skipped", skipped},
	}...)
	for i, f := range v.Failures {
		if i == maxFailures {
			a.out.Println(fmt.Sprintf("\n… and %d more; --json shows all", v.Failed-i))
			break
		}
		a.out.Println("\n" + a.out.Bad(f.ID) + "  " + a.out.Faint(terminal.Line(f.About)))
		for n, p := range f.Problems {
			if n == maxLines {
				a.out.Println(fmt.Sprintf("  … and %d more", len(f.Problems)-n))
				break
			}
			a.out.Println("  " + terminal.Line(p))
		}
	}
}
