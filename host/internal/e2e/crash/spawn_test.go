package main

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store"
)

const childSession = "agent:ops:subagent:00000000-0000-4000-8000-000000000001"

// fixture is a successful spawn with its rows and posts.
type fixture struct {
	call  *spawn
	rows  *e2e.FlowRows
	peers *e2e.Peers
}

// run adds a run with its messages.
func (f *fixture) run(r store.Run) *store.Run {
	r.ID = "r" + string(rune('1'+len(f.rows.Runs)))
	r.Attempt, r.EndedAt = 1, 1000
	f.rows.Runs = append(f.rows.Runs, &r)
	if f.rows.All.Sessions[r.SessionKey] != nil {
		messages := []string{`{"role":"user"}`}
		if r.Status == abi.RunDone {
			messages = append(messages, `{"role":"assistant"}`)
		}
		f.rows.All.Messages[r.ID] = messages
	}
	return &r
}

// deliver adds a delivery that was posted.
func (f *fixture) deliver(text string) {
	f.rows.Deliveries = append(f.rows.Deliveries, &store.Delivery{
		ID: "d1", SessionKey: requester, Text: text, Status: store.DeliveryDelivered, EndedAt: 1,
	})
	f.peers.Receive("webhook", text, "d1")
}

const stats = "\n\nStats: runtime 1s · tokens 12 (in 9 / out 3) · session " + childSession + " · id s1"

// newFixture returns the rows and posts of a spawn whose child's run ended with this status.
func newFixture(c spawn, status, reason string) *fixture {
	c.tag, c.from, c.channel, c.agent = "#x#", requester, "webhook", "ops"
	task := tasks[c.task]
	f := &fixture{call: &c, peers: e2e.NewPeers(reply), rows: &e2e.FlowRows{}}
	f.rows.All = &e2e.Rows{Sessions: map[string]*abi.Session{requester: {Key: requester}}, Messages: map[string][]string{}}
	answer, _ := json.Marshal(map[string]any{"status": "accepted", "runId": "r1", "childSessionKey": childSession})
	f.rows.Flow = &store.Flow{Status: store.FlowDone, Answer: answer, Step: 1}
	if !c.deletes {
		f.rows.Flow.Step++
		f.rows.All.Sessions[childSession] = &abi.Session{
			Key: childSession, SessionID: "s1", SpawnedBy: requester, Status: status, ArchivedAt: 1000 + archiveAfter.Milliseconds(),
		}
	}
	reply := ""
	if status == abi.RunDone {
		reply = c.fill(task.work)
	}
	f.run(store.Run{SessionKey: childSession, Group: abi.GroupSubagent, Message: c.message(), Status: status, Reply: reply, Error: reason})
	switch {
	case c.announce == announceNone:
		f.rows.Flow.Note = "done: stored only (announce none)"
	case reply == announceSkip:
		f.rows.Flow.Note = "done: silent"
	default:
		f.announce(task, status, reason)
	}
	f.rows.Flow.Step += len(f.rows.Runs)
	return f
}

func (f *fixture) announce(task task, status, reason string) {
	c, announce := f.call, store.Run{SessionKey: childSession, Group: abi.GroupNested, NoTools: true, Status: statusAfter(task.announce)}
	if announce.Status == abi.RunDone {
		announce.Reply = c.fill(task.announce)
	}
	f.run(announce)
	result, notes := c.fill(task.work), "-"
	if announce.Status == abi.RunDone {
		result, notes = c.fill(resultText), c.fill(notesText)
	}
	if reason != "" {
		notes += " (" + reason + ")"
	}
	text := "Status: " + statuses[status] + "\nResult: " + result + "\nNotes: " + notes + stats
	switch {
	case announce.Reply == announceSkip:
		f.rows.Flow.Note = "done: silent"
	case c.announce == announceParent:
		f.run(store.Run{SessionKey: requester, Group: abi.GroupNested, Message: text, Status: abi.RunDone, Reply: replyToReport(childSession)})
		f.deliver(replyToReport(childSession))
	default:
		f.deliver(text)
	}
}

func (f *fixture) verify() []string {
	var r e2e.Report
	v := &verification{&r, f.rows, f.peers, 2}
	v.check(f.call)
	f.peers.CheckUnexpected(&r)
	return r.Problems()
}

func TestVerifySpawn(t *testing.T) {
	for name, f := range map[string]*fixture{
		"channel":       newFixture(spawn{task: "do", announce: announceChannel}, abi.RunDone, ""),
		"parent":        newFixture(spawn{task: "do", announce: announceParent}, abi.RunDone, ""),
		"none":          newFixture(spawn{task: "do", announce: announceNone}, abi.RunDone, ""),
		"deleted":       newFixture(spawn{task: "do", announce: announceChannel, deletes: true}, abi.RunDone, ""),
		"skip":          newFixture(spawn{task: "skip", announce: announceChannel}, abi.RunDone, ""),
		"skip-announce": newFixture(spawn{task: "skip-announce", announce: announceParent}, abi.RunDone, ""),
		"fail-announce": newFixture(spawn{task: "fail-announce", announce: announceChannel}, abi.RunDone, ""),
		"fail":          newFixture(spawn{task: "fail", announce: announceChannel}, abi.RunFailed, e2e.ModelFailure),
		"slow":          newFixture(spawn{task: "slow", announce: announceParent}, abi.RunTimeout, "too long"),
	} {
		if got := f.verify(); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The verification detects every deviation from a successful spawn.
func TestVerifySpawnProblems(t *testing.T) {
	ok := spawn{task: "do", announce: announceChannel}
	parent := spawn{task: "do", announce: announceParent}
	deleted := spawn{task: "do", announce: announceChannel, deletes: true}
	skipped := spawn{task: "skip", announce: announceChannel}
	text := func(f *fixture, from, to string) {
		d := f.rows.Deliveries[0]
		f.peers = e2e.NewPeers(reply)
		d.Text = strings.ReplaceAll(d.Text, from, to)
		f.peers.Receive("webhook", d.Text, "d1")
	}
	for name, test := range map[string]struct {
		call   spawn
		change func(*fixture)
	}{
		"flow not ended":       {ok, func(f *fixture) { f.rows.Flow.Status = store.FlowParked }},
		"no run":               {ok, func(f *fixture) { f.rows.Runs = nil }},
		"no child's run":       {ok, func(f *fixture) { f.rows.Runs = f.rows.Runs[1:] }},
		"no announce run":      {ok, func(f *fixture) { f.rows.Runs = f.rows.Runs[:1] }},
		"no parent's run":      {parent, func(f *fixture) { f.rows.Runs = f.rows.Runs[:2] }},
		"two announces":        {ok, func(f *fixture) { f.run(*f.rows.Runs[1]) }},
		"two deliveries":       {ok, func(f *fixture) { f.deliver(f.rows.Deliveries[0].Text) }},
		"no delivery":          {ok, func(f *fixture) { f.rows.Deliveries = nil }},
		"undelivered":          {ok, func(f *fixture) { f.rows.Deliveries[0].Status = store.DeliverySkipped }},
		"wrong session":        {ok, func(f *fixture) { f.rows.Deliveries[0].SessionKey = childSession }},
		"not posted":           {ok, func(f *fixture) { f.peers = e2e.NewPeers(reply) }},
		"unexpected post":      {ok, func(f *fixture) { f.peers.Receive("webhook", "hello", "") }},
		"wrong status":         {ok, func(f *fixture) { text(f, "success", "error") }},
		"no result":            {ok, func(f *fixture) { text(f, "result #x#", "-") }},
		"no notes":             {ok, func(f *fixture) { text(f, "notes #x#", "-") }},
		"two reports":          {ok, func(f *fixture) { text(f, "Notes:", "Status: success\nNotes:") }},
		"another child":        {ok, func(f *fixture) { text(f, "session agent:ops", "session agent:cmd") }},
		"another id":           {ok, func(f *fixture) { text(f, "id s1", "id s2") }},
		"wrong report":         {parent, func(f *fixture) { f.rows.Runs[2].Message = "Status: error" + stats }},
		"wrong parent":         {parent, func(f *fixture) { f.rows.Runs[2].SessionKey = "agent:main:other" }},
		"with tools":           {ok, func(f *fixture) { f.rows.Runs[1].NoTools = false }},
		"other group":          {ok, func(f *fixture) { f.rows.Runs[0].Group = abi.GroupNested }},
		"third attempt":        {ok, func(f *fixture) { f.rows.Runs[0].Attempt = 3 }},
		"attempt left":         {ok, func(f *fixture) { f.rows.Runs[1].Status, f.rows.Runs[1].Error = abi.RunFailed, interrupted }},
		"stored twice":         {ok, func(f *fixture) { f.rows.All.Messages["r1"] = append(f.rows.All.Messages["r1"], `{"role":"user"}`) }},
		"not stored":           {ok, func(f *fixture) { f.rows.All.Messages["r1"] = nil }},
		"step taken twice":     {ok, func(f *fixture) { f.rows.Flow.Step++ }},
		"not archived":         {ok, func(f *fixture) { f.rows.All.Sessions[childSession].ArchivedAt = 0 }},
		"archived early":       {ok, func(f *fixture) { f.rows.All.Sessions[childSession].ArchivedAt-- }},
		"child's status":       {ok, func(f *fixture) { f.rows.All.Sessions[childSession].Status = abi.RunFailed }},
		"another's child":      {ok, func(f *fixture) { f.rows.All.Sessions[childSession].SpawnedBy = childSession }},
		"child deleted":        {ok, func(f *fixture) { delete(f.rows.All.Sessions, childSession) }},
		"not deleted":          {deleted, func(f *fixture) { f.rows.All.Sessions[childSession] = &abi.Session{Key: childSession} }},
		"messages not deleted": {deleted, func(f *fixture) { f.rows.All.Messages["r1"] = []string{`{"role":"user"}`} }},
		"announced":            {skipped, func(f *fixture) { f.deliver("here I am") }},
		"no note":              {skipped, func(f *fixture) { f.rows.Flow.Note = "" }},
		"not accepted":         {ok, func(f *fixture) { f.rows.Flow.Answer = []byte(`{"status":"forbidden"}`) }},
	} {
		f := newFixture(test.call, abi.RunDone, "")
		test.change(f)
		if got := f.verify(); len(got) == 0 {
			t.Errorf("%s: no problem found", name)
		}
	}
}

// The report on a run that ended as interrupted contains the reason.
func TestSpawnInterrupted(t *testing.T) {
	reason := interrupted + ": the host ended"
	f := newFixture(spawn{task: "do", announce: announceChannel}, abi.RunFailed, reason)
	f.rows.Runs[0].Attempt = 2
	if got := f.verify(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	f.rows.Runs[0].Error = interrupted
	if got := f.verify(); len(got) == 0 {
		t.Error("no problem found for a reason that differs from the run's")
	}
}

func TestSpawnAccepted(t *testing.T) {
	c := &spawn{}
	for answer, want := range map[string]string{
		`{"status":"accepted"}`: "accepted",
		`{"status":"forbidden","error":"no more (agents.defaults.subagents.maxChildrenPerAgent is 5)"}`: "later",
		`{"status":"forbidden","error":"children cannot spawn children"}`:                               "never",
		`{"status":"error","error":"task is missing"}`:                                                  "never",
	} {
		got := "later"
		if accepted, err := c.accepted(gjson.Parse(answer)); err != nil {
			got = "never"
		} else if accepted {
			got = "accepted"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}

// A load spawns every kind of task, and only from the load's sessions.
func TestSpawnLoad(t *testing.T) {
	l, rng := spawns(1), rand.New(rand.NewPCG(1, 0))
	seen := map[string]bool{}
	for range 5000 {
		c := l.next("#x#", rng).(*spawn)
		seen[c.task], seen[c.announce] = true, true
		if c.deletes {
			seen["delete"] = true
		}
		if c.channel == "" {
			seen["no channel"] = true
		}
		if c.announce == announceNone && c.deletes {
			t.Fatal("a deleted child without an announce")
		}
		if !slices.ContainsFunc(l.sessions, func(s *abi.Session) bool { return s.Key == c.from && s.DeliveryContext.Channel == c.channel }) {
			t.Fatalf("%s spawns to %q", c.from, c.channel)
		}
	}
	if want := len(tasks) + 5; len(seen) != want {
		t.Errorf("%v, want %d", seen, want)
	}
}
