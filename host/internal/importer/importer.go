package importer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store"
)

// Options configure an import. nil is the same as the zero value.
type Options struct {
	// Keys are the settings that session keys depend on. Nil = those of the state
	// directory's openclaw.json; see Settings.
	Keys *sessionkey.Settings
	// Progress is called at most ten times a second, and once at the end, on the
	// goroutine that called Import.
	Progress func(Progress)
	// Logger gets one line for the import, and one for each agent's store at debug
	// level. Nil = none.
	Logger *slog.Logger

	progressInterval time.Duration // set by tests; 0 = the constant, negative = report every change
}

// importer is the state of a running import.
type importer struct {
	root    *os.Root
	into    store.Loader
	report  *Report
	meter   *meter
	writer  *writer
	log     *slog.Logger
	maxLine int
	view    store.Snapshot // to look up stored sessions; reopened periodically
	lookups int            // number of sessions looked up so far
}

// Import reads the state directory dir into the store. The report is nil only if dir
// cannot be opened as one. After any other error it covers the committed work.
func Import(ctx context.Context, dir string, into store.Loader, o *Options) (*Report, error) {
	return importDir(ctx, dir, into, o, MaxLine)
}

func importDir(ctx context.Context, dir string, into store.Loader, o *Options, maxLine int) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	root, err := openState(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := newReport(dir)
	im := &importer{root: root, into: into, report: r, maxLine: maxLine, log: o.Logger}
	im.meter = &meter{report: o.Progress, interval: cmp.Or(o.progressInterval, progressInterval), now: time.Now}
	im.writer = &writer{into: into, report: r, meter: im.meter}
	if im.log == nil {
		im.log = slog.New(slog.DiscardHandler)
	}
	defer im.closeView()
	err = im.run(ctx, dir, im.settings(o))
	im.meter.finish()
	im.log.Info("openclaw import", "dir", dir, "sessions", r.Sessions.String(), "messages", r.Messages.String(), "problems", r.total(), "err", err)
	return r, err
}

func (im *importer) settings(o *Options) sessionkey.Settings {
	if o.Keys != nil {
		return *o.Keys
	}
	s, line, err := readSettings(im.root)
	if err != nil {
		im.report.problem(configFile, line, BadConfig, err.Error())
	}
	return s
}

func (im *importer) run(ctx context.Context, dir string, settings sessionkey.Settings) error {
	dirs, err := layout(im.root, im.report)
	if err != nil {
		return err
	}
	all := newCatalog(settings, im.report)
	for _, a := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		im.readStore(all, a)
	}
	all.addRuns(im.root)
	im.countAgents(all)
	if err := im.locate(dir, dirs, all); err != nil {
		return err
	}
	for _, e := range all.entries {
		if err := im.session(ctx, e); err != nil {
			return err
		}
	}
	return im.writer.flush(ctx)
}

func (im *importer) readStore(all *catalog, a *agentDir) {
	if !a.Store {
		return
	}
	text, err := readFile(im.root, a.store())
	if err != nil {
		im.report.problem(a.store(), 0, BadStore, reason(err)+"; its sessions are skipped")
		return
	}
	im.report.Bytes += int64(len(text))
	im.meter.Total += int64(len(text))
	im.meter.File = a.store()
	all.addStore(a, text)
	im.meter.add(int64(len(text)))
	im.log.Debug("openclaw store", "file", a.store(), "sessions", len(all.entries))
}

func (im *importer) countAgents(all *catalog) {
	agents := map[string]bool{}
	for _, e := range all.entries {
		agents[e.Session.AgentID] = true
	}
	im.report.Agents = slices.AppendSeq(im.report.Agents, maps.Keys(agents))
	slices.Sort(im.report.Agents)
}

// locate finds every entry's transcript, and reports the transcripts without an entry.
func (im *importer) locate(dir string, dirs []*agentDir, all *catalog) error {
	f, err := newFinder(im.root, dir, im.report)
	if err != nil {
		return fmt.Errorf("importer: resolve the path of the state directory: %w", err)
	}
	for _, e := range all.entries {
		f.find(e)
		im.meter.Total += max(e.Size, 0)
	}
	for _, a := range dirs {
		for _, name := range slices.Sorted(maps.Keys(a.Transcripts)) {
			if file := path.Join(a.Path, name); !f.used[file] {
				im.report.problem(file, 0, Orphan, fmt.Sprintf("no session entry refers to it; its %d bytes are not imported", a.Transcripts[name]))
			}
		}
	}
	return nil
}

// session stores one session and its transcript.
func (im *importer) session(ctx context.Context, e *entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	im.meter.File = cmp.Or(e.Transcript, e.Store)
	im.writer.session(e)
	if e.Transcript != "" {
		if err := im.readTranscript(ctx, e); err != nil {
			return err
		}
	}
	if im.writer.full() {
		return im.writer.flush(ctx)
	}
	return nil
}
