package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/module/verify"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// swapCmd activates another version of the plugin.
type swapCmd struct {
	File      string `arg:"" optional:"" help:"The module; without it, --digest names a version in the database."`
	BuiltIn   bool   `help:"Swap to the version that is built into this program."`
	Digest    string `placeholder:"SHA256" help:"Expected digest of FILE. Without FILE: the version to activate; may be shortened."`
	Signature string `placeholder:"FILE" help:"The module's ed25519 signature, 64 bytes or their base64; default: FILE.sig, if that exists."`
	Force     bool   `help:"Swap even if flows would need more old versions than plugins.maxPinned, or if no vector applies to the module's tools."`
}

func (*swapCmd) Help() string {
	return `The module is checked, loaded into the sandbox, started and verified (plugins.verify) before anything changes. Then it answers new calls. Running steps finish with the version that they started with, and a flow whose state the new version cannot read keeps an old version that can read it. If anything fails, nothing changes. The new version stays active after a restart. A version that fails in several of its first steps is rolled back automatically (plugins.rollback), and its flows are parked.

To create a signature: openssl pkeyutl -sign -rawin -inkey KEY.pem -in FILE -out FILE.sig`
}

// Validate checks that the arguments select exactly one module.
func (c *swapCmd) Validate() error {
	switch {
	case c.BuiltIn && (c.File != "" || c.Digest != ""):
		return errors.New("--built-in selects the module; omit FILE and --digest")
	case c.File == "" && c.Digest == "" && !c.BuiltIn:
		return errors.New("name a module: FILE, --digest of one that parley plugin list shows, or --built-in")
	case c.File == "" && c.Signature != "":
		return errors.New("--signature requires FILE")
	}
	return nil
}

func (c *swapCmd) Run(ctx context.Context, a *app) error {
	m := &host.PluginFile{Origin: "parley plugin swap"}
	if c.File != "" {
		var err error
		if m, err = gateway.ReadPlugin(c.File, c.Signature); err != nil {
			return err
		}
	}
	m.Digest, m.Force = c.Digest, c.Force
	if c.BuiltIn {
		m.Digest = module.Digest(wasm.Parley)
	}
	return a.with(ctx, func(db *gateway.Database) error {
		if c.File == "" && !c.BuiltIn {
			all, err := db.Plugins(ctx)
			if err != nil {
				return err
			}
			if m.Digest, err = completeID(c.Digest, mapStrings(all.Versions, func(p *host.Plugin) string { return p.Digest })); err != nil {
				return err
			}
		}
		tools := verify.Names(db.Tools())
		done, err := db.Swap(ctx, m)
		if err != nil && c.File != "" {
			err = fmt.Errorf("%s: %w", c.File, err)
		}
		if err != nil {
			return err
		}
		return a.show(done, func() { a.showSwap(done, tools) })
	})
}

func (a *app) showSwap(s *host.SwapResult, before []string) {
	name := fmt.Sprintf("%s %s (%.12s)", terminal.Line(s.Active.Name), terminal.Line(s.Active.Version), s.Active.Digest)
	if s.Same {
		a.out.Println(name + " is active already")
		return
	}
	a.out.Println(a.out.Good(name + " is active"))
	if a.Quiet {
		return
	}
	pinned := ""
	if s.Pinned > 0 {
		pinned = terminal.Plural(s.Pinned, "flow") + " stay with other versions, because the new version cannot read their states"
	}
	a.out.Fields([][2]string{
		{"previous", fmt.Sprintf("%.12s", s.Before)},
		{"undo", fmt.Sprintf("parley plugin swap --digest %.12s", s.Before)},
		{"tools", toolsChanged(before, s.Active.Tools)},
		{"verified", verified(s.Verified)},
		{"denied", denied(s.Active.Denied)},
		{"pinned", pinned},
	}...)
}

// verified formats the result of the verification, or returns "" if the swap did not verify the module.
func verified(v *host.Verified) string {
	if v == nil {
		return ""
	}
	text := terminal.Plural(v.Passed, "vector") + " (" + v.Level + ")"
	if v.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped for tools that it does not have", v.Skipped)
	}
	return text
}

// denied formats the requested capabilities that plugins.allow denies.
func denied(capabilities []string) string {
	if len(capabilities) == 0 {
		return ""
	}
	return terminal.Line(strings.Join(capabilities, ", ")) + "  (plugins.allow of the configuration)"
}

// toolsChanged lists the removed tools with "-" and the added tools with "+".
func toolsChanged(before, after []string) string {
	var changed []string
	add := func(sign string, names, others []string) {
		for _, name := range names {
			if !slices.Contains(others, name) {
				changed = append(changed, sign+terminal.Line(name))
			}
		}
	}
	add("-", before, after)
	add("+", after, before)
	return strings.Join(changed, " ")
}
