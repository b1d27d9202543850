package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// importCmd groups the import commands, one for each kind of source.
type importCmd struct {
	OpenClaw importOpenClawCmd `cmd:"" name:"openclaw" help:"Import or update from OpenClaw's state directory, such as ~/.openclaw."`
}

// importOpenClawCmd imports OpenClaw's state directory.
type importOpenClawCmd struct {
	Dir string `arg:"" help:"The state directory. It is only read."`
}

func (*importOpenClawCmd) Help() string {
	return "A repeated import updates the sessions, and resumes an interrupted import. Entries that could not be imported are listed with file and line; --json prints the full report."
}

func (c *importOpenClawCmd) Run(ctx context.Context, a *app) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	return a.with(ctx, func(db *gateway.Database) error {
		start := time.Now()
		bar := a.err.NewProgress()
		report, err := db.Import(ctx, dir, func(p local.ImportProgress) {
			if !a.Quiet {
				bar.Bytes(p.Done, p.Total, terminal.Plural(p.Sessions, "session")+", "+terminal.Plural(p.Messages, "message"))
			}
		})
		bar.Clear()
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		a.compareSettings(dir, db.Keys())
		return a.show(report, func() { a.importSummary(report, db.Location(), time.Since(start)) })
	})
}

// compareSettings prints a note for each setting that differs between OpenClaw's
// configuration in dir and mine, if the canonical form of session keys depends on it. The
// import used mine.
func (a *app) compareSettings(dir string, mine sessionkey.Settings) {
	theirs, err := importer.Settings(dir)
	if err != nil {
		a.note("openclaw.json: %s: its settings were not compared with the current ones", terminal.Line(err.Error()))
	}
	scope := map[bool]string{false: config.ScopePerSender, true: config.ScopeGlobal}
	for _, c := range [][3]string{
		{"session.mainKey", cmp.Or(theirs.MainKey, sessionkey.DefaultMainKey), cmp.Or(mine.MainKey, sessionkey.DefaultMainKey)},
		{"session.scope", scope[theirs.GlobalScope], scope[mine.GlobalScope]},
		{"the default agent", theirs.Agent(), mine.Agent()},
	} {
		if c[1] != c[2] {
			a.note("openclaw.json: %s is %q, but the import used %q, on which the meaning of \"main\" depends: to use the value of openclaw.json, set it in the configuration and import again", c[0], c[1], c[2])
		}
	}
}

// maxProblems is the maximum number of problems and notes that a summary lists.
const maxProblems = 20

func (a *app) importSummary(r *local.ImportReport, database string, took time.Duration) {
	if a.Quiet {
		return
	}
	a.out.Println(a.out.Bold("Imported " + terminal.Line(r.Dir)))
	a.out.Fields([][2]string{
		{"sessions", r.Sessions.String()},
		{"messages", r.Messages.String()},
		{"transcripts", fmt.Sprintf("%d read, %d unchanged, %d missing", r.Transcripts.Read, r.Transcripts.Unchanged, r.Transcripts.Missing)},
		{"agents", terminal.Line(cmp.Or(strings.Join(r.Agents, ", "), "none"))},
		{"other lines", countList(r.Lines)}, {"old copies", countList(r.Ignored)}, {"repairs", countList(r.Repairs)},
		{"read", fmt.Sprintf("%s in %s", terminal.Size(r.Bytes), took.Round(time.Millisecond))},
		{"database", database},
	}...)
	a.importProblems(r)
}

// countList formats counts by name, such as "3 bak, 1 reset".
func countList(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], terminal.Line(name)))
	}
	return strings.Join(parts, ", ")
}

// importProblems lists the problems, then the notes.
func (a *app) importProblems(r *local.ImportReport) {
	total := 0
	for _, n := range r.Totals {
		total += n
	}
	if total == 0 {
		return
	}
	a.out.Println(fmt.Sprintf("\n%s (%d):", a.out.Bold("Problems and notes"), total))
	shown := 0
	for _, note := range []bool{false, true} {
		for _, p := range r.Problems {
			if importer.IsNote(p.Kind) != note || shown == maxProblems {
				continue
			}
			shown++
			kind := a.out.Bad(p.Kind)
			if note {
				kind = a.out.Faint(p.Kind)
			}
			a.out.Println(fmt.Sprintf("  %s: %s: %s", terminal.Line(p.Position()), kind, terminal.Line(p.Text)))
		}
	}
	if rest := total - shown; rest > 0 {
		a.out.Println(fmt.Sprintf("  … and %d more; --json shows all", rest))
	}
}
