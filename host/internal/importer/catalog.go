package importer

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

// catalog lists the sessions of a state directory: one entry for each canonical key,
// in the order found.
type catalog struct {
	settings sessionkey.Settings
	report   *Report
	entries  []*entry
	byKey    map[string]int
}

func newCatalog(s sessionkey.Settings, r *Report) *catalog {
	return &catalog{settings: s, report: r, byKey: map[string]int{}}
}

// addStore adds the entries of an agent's sessions.json and reports invalid ones. If
// the file cannot be parsed, the transcripts in its directory become orphans.
func (c *catalog) addStore(a *agentDir, text []byte) {
	doc, bad := parseLenient(text)
	if bad != nil {
		c.report.problem(a.store(), bad.Line, BadStore, bad.Reason+"; its sessions are skipped")
		return
	}
	if doc.replaced {
		c.report.Repairs[repairUTF8]++
		c.report.problem(a.store(), 0, Repaired, "the file is not valid UTF-8; each invalid sequence was replaced by U+FFFD")
	}
	lines := doc.locator()
	object := members(doc.json, func(spelling string, raw []byte, end int) {
		c.add(a, spelling, raw, lines.at(end, spelling))
	})
	if !object {
		c.report.problem(a.store(), 1, BadStore, "is not a JSON object of sessions; its sessions are skipped")
	}
}

// add converts one entry to a session and adds it. It reports an invalid entry, and one
// of two entries for the same session.
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
		e.problem(c.report, BadField, "updatedAt is missing; the session sorts as the oldest")
	}
	fixed.report(c.report, e.Store, line, quote(key)+": ")
	if e.Session.AgentID != a.Agent && key != sessionkey.Global {
		e.problem(c.report, OtherAgent, fmt.Sprintf("the key names agent %s, the directory %s; the key's agent is used", e.Session.AgentID, a.Agent))
	}
	c.insert(e)
}

// insert adds the entry. If there already is an entry with the same key, insert keeps
// one of the two and reports the other.
func (c *catalog) insert(e *entry) {
	i, ok := c.byKey[e.Session.Key]
	if !ok {
		c.byKey[e.Session.Key] = len(c.entries)
		c.entries = append(c.entries, e)
		return
	}
	old := c.entries[i]
	c.report.Sessions.Skipped++
	if old.Store == e.Store && old.Spelling == e.Spelling {
		c.report.problem(old.Store, old.Line, DuplicateKey, fmt.Sprintf("%s occurs again in line %d; the last entry is used", quote(e.Spelling), e.Line))
		c.entries[i] = e
		return
	}
	winner, loser := old, e
	if e.Session.UpdatedAt > old.Session.UpdatedAt {
		winner, loser = e, old
	}
	c.entries[i] = winner
	c.report.problem(loser.Store, loser.Line, DuplicateSession, fmt.Sprintf("%s is the same session as %s in %s:%d, which is at least as new and is used",
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

// quote returns a text, truncated and in quotes, for a report.
func quote(s string) string { return `"` + clip(s, 120) + `"` }
