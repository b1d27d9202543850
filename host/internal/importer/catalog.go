package importer

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

// catalog is every session of a state directory, one entry for each canonical
// key, in the order found.
type catalog struct {
	settings sessionkey.Settings
	report   *Report
	entries  []*entry
	byKey    map[string]int
}

func newCatalog(s sessionkey.Settings, r *Report) *catalog {
	return &catalog{settings: s, report: r, byKey: map[string]int{}}
}

// addStore adds the entries of an agent's sessions.json. What the file's text
// cannot say is reported; the transcripts beside a broken file are orphans.
func (c *catalog) addStore(a *agentDir, text []byte) {
	doc, bad := parseLenient(text)
	if bad != nil {
		c.report.problem(a.store(), bad.Line, BadStore, bad.Reason+"; its sessions are skipped")
		return
	}
	if !doc.utf8 {
		c.report.Repairs[repairUTF8]++
		c.report.problem(a.store(), 0, Repaired, "the file is not valid UTF-8; each wrong sequence became U+FFFD")
	}
	lines := doc.locator()
	object := members(doc.json, func(spelling string, raw []byte, end int) {
		c.add(a, spelling, raw, lines.at(end, spelling))
	})
	if !object {
		c.report.problem(a.store(), 1, BadStore, "is no JSON object of sessions; its sessions are skipped")
	}
}

// add maps one entry and adds it, unless it is no use or there is a better one.
func (c *catalog) add(a *agentDir, spelling string, raw []byte, line int) {
	skip := func(kind, text string) {
		c.report.Sessions.Skipped++
		c.report.problem(a.store(), line, kind, quote(spelling)+" "+text+"; skipped")
	}
	key, err := canonicalKey(c.settings, spelling, a.Agent)
	switch {
	case errors.Is(err, errReserved):
		skip(ReservedKey, err.Error())
		return
	case err != nil:
		skip(BadKey, err.Error())
		return
	}
	e := &entry{Store: a.store(), Line: line, Spelling: spelling, Dir: a}
	e.Session.Key, e.Session.Kind = key, sessionkey.Kind(key)
	e.Session.AgentID = agentOf(key, c.settings)

	clean, fixed, err := normalizeJSON(raw)
	if err != nil {
		skip(BadEntry, err.Error())
		return
	}
	obj := gjson.ParseBytes(clean)
	if !obj.IsObject() {
		skip(BadEntry, "is "+kindOf(obj)+", not an object")
		return
	}
	if err := e.fill(obj, c.settings, c.report); err != nil {
		skip(BadEntry, err.Error())
		return
	}
	if e.Session.UpdatedAt == 0 && !obj.Get("updatedAt").Exists() {
		e.problem(c.report, BadField, "updatedAt is missing; the session counts as the oldest")
	}
	fixed.report(c.report, e.Store, line, quote(key)+": ")
	if e.Session.AgentID != a.Agent && key != sessionkey.Global {
		e.problem(c.report, OtherAgent, fmt.Sprintf("the key names agent %s, the directory %s; the key counts", e.Session.AgentID, a.Agent))
	}
	c.keep(e)
}

// keep adds the entry or settles which of two spellings counts.
func (c *catalog) keep(e *entry) {
	i, ok := c.byKey[e.Session.Key]
	if !ok {
		c.byKey[e.Session.Key] = len(c.entries)
		c.entries = append(c.entries, e)
		return
	}
	old := c.entries[i]
	c.report.Sessions.Skipped++
	if old.Store == e.Store && old.Spelling == e.Spelling {
		c.report.problem(old.Store, old.Line, DuplicateKey, fmt.Sprintf("%s is there again in line %d; the last one counts", quote(e.Spelling), e.Line))
		c.entries[i] = e
		return
	}
	winner, loser := old, e
	if e.Session.UpdatedAt > old.Session.UpdatedAt {
		winner, loser = e, old
	}
	c.entries[i] = winner
	c.report.problem(loser.Store, loser.Line, DuplicateSession, fmt.Sprintf("%s is the same session as %s in %s:%d, which is as new or newer and counts",
		quote(loser.Spelling), quote(winner.Spelling), winner.Store, winner.Line))
}

// get returns the entry with this canonical key, or nil.
func (c *catalog) get(key string) *entry {
	if i, ok := c.byKey[key]; ok {
		return c.entries[i]
	}
	return nil
}

func agentOf(key string, settings sessionkey.Settings) string {
	if agent, _, ok := sessionkey.Split(key); ok {
		return agent
	}
	return settings.Agent()
}

// quote shows a key in a report.
func quote(key string) string { return `"` + clip(key, 120) + `"` }
