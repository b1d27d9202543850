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

// swapCmd lets another version of the plugin serve.
type swapCmd struct {
	File      string `arg:"" optional:"" help:"The module; without one, --digest names one that the database has."`
	BuiltIn   bool   `help:"Swap to the version that this program came with."`
	Digest    string `placeholder:"SHA256" help:"What the module must be. Without FILE: the version to go back to, which may be shortened."`
	Signature string `placeholder:"FILE" help:"The module's ed25519 signature, 64 bytes or their base64; default: FILE.sig, if it is there."`
	Force     bool   `help:"Swap even if flows would need more old versions than plugins.maxPinned, or if no vector is about the module's tools."`
}

func (*swapCmd) Help() string {
	return `The module is checked, loaded into the sandbox, started and tried before anything changes (plugins.verify). Then new calls are answered by it, steps under way end with the version that they began with, and a flow whose state the new version cannot read stays with one that can. If anything fails, everything stays as it was. The new version stays in force after a restart; one that soon fails in several steps is taken back by itself (plugins.rollback), and its flows are parked.

A signature is made by: openssl pkeyutl -sign -rawin -inkey KEY.pem -in FILE -out FILE.sig`
}

// Validate checks that there is something to swap to.
func (c *swapCmd) Validate() error {
	switch {
	case c.BuiltIn && (c.File != "" || c.Digest != ""):
		return errors.New("--built-in names the module; leave FILE and --digest away")
	case c.File == "" && c.Digest == "" && !c.BuiltIn:
		return errors.New("name a module: FILE, --digest of one that parley plugin list shows, or --built-in")
	case c.File == "" && c.Signature != "":
		return errors.New("--signature is for FILE")
	}
	return nil
}

// Run swaps.
func (c *swapCmd) Run(ctx context.Context, a *app) error {
	m := &host.Candidate{Origin: "parley plugin swap"}
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
			if m.Digest, err = completeID(c.Digest, texts(all.Versions, func(p *host.Plugin) string { return p.Digest })); err != nil {
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

func (a *app) showSwap(s *host.Swapped, before []string) {
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
		pinned = terminal.Plural(s.Pinned, "flow") + " stay with other versions, whose states this one cannot read"
	}
	a.out.Fields([][2]string{
		{"before", fmt.Sprintf("%.12s", s.Before)},
		{"back", fmt.Sprintf("parley plugin swap --digest %.12s", s.Before)},
		{"tools", toolsChanged(before, s.Active.Tools)},
		{"verified", verified(s.Verified)},
		{"withheld", withheld(s.Active.Withheld)},
		{"pinned", pinned},
	}...)
}

// verified writes how a module was verified, if it was.
func verified(v *host.Verified) string {
	if v == nil {
		return ""
	}
	text := terminal.Plural(v.Passed, "vector") + " (" + v.Level + ")"
	if v.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped for tools that it does not offer", v.Skipped)
	}
	return text
}

// withheld writes what a plugin asks for and does not get.
func withheld(capabilities []string) string {
	if len(capabilities) == 0 {
		return ""
	}
	return terminal.Line(strings.Join(capabilities, ", ")) + "  (plugins.allow of the configuration)"
}

// toolsChanged lists the tools that are gone and those that came.
func toolsChanged(before, after []string) string {
	var changed []string
	add := func(mark string, names, others []string) {
		for _, name := range names {
			if !slices.Contains(others, name) {
				changed = append(changed, mark+terminal.Line(name))
			}
		}
	}
	add("-", before, after)
	add("+", after, before)
	return strings.Join(changed, " ")
}
