package importer

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/tidwall/gjson"
)

// run is the run registry's record of a child session.
type run struct {
	line      int
	createdAt int64
	requester string // key as written in the registry
	label     string
	status    string // done, failed, killed, timeout; empty if the run had not ended
	ended     bool
	known     bool // the outcome is documented or empty
	outcome   string
}

// addRuns reads the run registry and sets the parent, label and status of child
// sessions whose entries lack them. If a child has several runs, the newest is used.
func (c *catalog) addRuns(root *os.Root) {
	text, err := readFile(root, runsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		c.report.problem(runsFile, 0, Unreadable, reason(err))
		return
	}
	doc, bad := parseLenient(text)
	if bad != nil {
		c.report.problem(runsFile, bad.Line, BadRun, bad.Reason+"; no run is imported")
		return
	}
	registry := gjson.GetBytes(doc.json, "runs")
	if v := gjson.GetBytes(doc.json, "version"); !registry.IsObject() || v.Num != 1 && v.Num != 2 {
		c.report.problem(runsFile, 1, BadRun, "is not a run registry {version, runs} of version 1 or 2; no run is imported")
		return
	}
	lines := doc.locator()
	newest := map[string]*run{}
	var children []string
	members([]byte(registry.Raw), func(id string, raw []byte, end int) {
		line := lines.at(registry.Index+end, id)
		clean, fixed, err := normalizeJSON(raw)
		record := gjson.ParseBytes(clean)
		if err != nil || !record.IsObject() {
			c.report.problem(runsFile, line, BadRun, quote(id)+" is not an object; skipped")
			return
		}
		fixed.report(c.report, runsFile, line, quote(id)+": ")
		child, err := canonicalKey(c.settings, record.Get("childSessionKey").Str, c.settings.Agent())
		if err != nil {
			c.report.problem(runsFile, line, BadRun, quote(id)+": childSessionKey "+err.Error()+"; skipped")
			return
		}
		r := parseRun(record, line)
		if old := newest[child]; old == nil {
			children = append(children, child)
		} else if old.createdAt > r.createdAt {
			return
		}
		newest[child] = r
	})
	for _, child := range children {
		c.apply(child, newest[child])
	}
}

func parseRun(record gjson.Result, line int) *run {
	r := &run{
		line: line, requester: strings.TrimSpace(record.Get("requesterSessionKey").Str),
		label: clip(strings.TrimSpace(record.Get("label").Str), maxString),
	}
	r.createdAt, _ = whole(record.Get("createdAt"))
	outcome := record.Get("outcome")
	r.outcome = strings.ToLower(cmp.Or(outcome.Get("status").Str, outcome.Str))
	r.ended = record.Get("endedAt").Type == gjson.Number || r.outcome != ""
	r.known = true
	switch r.outcome {
	case "ok", "success":
		r.status = "done"
	case "error":
		r.status = "failed"
	case "timeout", "killed":
		r.status = r.outcome
	case "", "unknown":
	default:
		r.known = false
	}
	if strings.HasSuffix(record.Get("endedReason").Str, "killed") {
		r.status = "killed"
	}
	return r
}

// apply adds a run's data to the child's session.
func (c *catalog) apply(child string, r *run) {
	e := c.get(child)
	switch {
	case e == nil:
		c.report.problem(runsFile, r.line, RunOrphan, quote(child)+" has a run but no session")
		return
	case !r.known:
		c.report.problem(runsFile, r.line, BadRun, quote(child)+": unknown outcome "+quote(r.outcome)+"; no status is imported")
	case !r.ended:
		c.report.problem(runsFile, r.line, RunUnfinished, quote(child)+": the run had not ended; the import does not resume it")
	}
	s := &e.Session
	s.Label = cmp.Or(s.Label, r.label)
	s.Status = cmp.Or(s.Status, r.status)
	if s.SpawnedBy != "" || r.requester == "" {
		return
	}
	parent, err := canonicalKey(c.settings, r.requester, c.settings.Agent())
	if err != nil {
		c.report.problem(runsFile, r.line, BadRun, quote(child)+": requesterSessionKey "+err.Error()+"; no parent is imported")
		return
	}
	s.SpawnedBy = parent
}
