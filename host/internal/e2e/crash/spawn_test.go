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

const theChild = "agent:ops:subagent:00000000-0000-4000-8000-000000000001"

// world is a spawn that went well, and what is found out about it.
type world struct {
	call  *spawn
	story *e2e.Story
	peers *e2e.Peers
}

// run adds a run with its messages.
func (w *world) run(r store.Run) *store.Run {
	r.ID = "r" + string(rune('1'+len(w.story.Runs)))
	r.Attempt, r.EndedAt = 1, 1000
	w.story.Runs = append(w.story.Runs, &r)
	if w.story.All.Sessions[r.SessionKey] != nil {
		messages := []string{`{"role":"user"}`}
		if r.Status == abi.RunDone {
			messages = append(messages, `{"role":"assistant"}`)
		}
		w.story.All.Messages[r.ID] = messages
	}
	return &r
}

// deliver adds a delivery that has arrived.
func (w *world) deliver(text string) {
	w.story.Deliveries = append(w.story.Deliveries, &store.Delivery{
		ID: "d1", SessionKey: requester, Text: text, Status: store.DeliveryDelivered, EndedAt: 1,
	})
	w.peers.Take("webhook", text, "d1")
}

const stats = "\n\nStats: runtime 1s · tokens 12 (in 9 / out 3) · session " + theChild + " · id s1"

// newWorld makes all that follows from a spawn, with a child's run that ended so.
func newWorld(c spawn, status, reason string) *world {
	c.tag, c.from, c.channel, c.agent = "#x#", requester, "webhook", "ops"
	task := tasks[c.task]
	w := &world{call: &c, peers: e2e.NewPeers(answer), story: &e2e.Story{}}
	w.story.All = &e2e.Rows{Sessions: map[string]*abi.Session{requester: {Key: requester}}, Messages: map[string][]string{}}
	answer, _ := json.Marshal(map[string]any{"status": "accepted", "runId": "r1", "childSessionKey": theChild})
	w.story.Flow = &store.Flow{Status: store.FlowDone, Answer: answer, Step: 1}
	if !c.deletes {
		w.story.Flow.Step++
		w.story.All.Sessions[theChild] = &abi.Session{
			Key: theChild, SessionID: "s1", SpawnedBy: requester, Status: status, ArchivedAt: 1000 + archiveAfter.Milliseconds(),
		}
	}
	reply := ""
	if status == abi.RunDone {
		reply = c.says(task.work)
	}
	w.run(store.Run{SessionKey: theChild, Group: abi.GroupSubagent, Message: c.message(), Status: status, Reply: reply, Error: reason})
	switch {
	case c.announce == toNobody:
		w.story.Flow.Note = "done: stored only (so)"
	case reply == silence:
		w.story.Flow.Note = "done: silent"
	default:
		w.announce(task, status, reason)
	}
	w.story.Flow.Step += len(w.story.Runs)
	return w
}

func (w *world) announce(task task, status, reason string) {
	c, said := w.call, store.Run{SessionKey: theChild, Group: abi.GroupNested, NoTools: true, Status: statusAfter(task.announce)}
	if said.Status == abi.RunDone {
		said.Reply = c.says(task.announce)
	}
	w.run(said)
	result, notes := c.says(task.work), "-"
	if said.Status == abi.RunDone {
		result, notes = c.says(resultText), c.says(notesText)
	}
	if reason != "" {
		notes += " (" + reason + ")"
	}
	text := "Status: " + statuses[status] + "\nResult: " + result + "\nNotes: " + notes + stats
	switch {
	case said.Reply == silence:
		w.story.Flow.Note = "done: silent"
	case c.announce == toParent:
		w.run(store.Run{SessionKey: requester, Group: abi.GroupNested, Message: text, Status: abi.RunDone, Reply: heard(theChild)})
		w.deliver(heard(theChild))
	default:
		w.deliver(text)
	}
}

func (w *world) verify() []string {
	var r e2e.Report
	v := &verification{&r, w.story, w.peers, 2}
	v.check(w.call)
	w.peers.FailUnexpected(&r)
	return r.Problems()
}

func TestSpawnThatIsRight(t *testing.T) {
	for name, w := range map[string]*world{
		"channel": newWorld(spawn{task: "do", announce: toChannel}, abi.RunDone, ""),
		"parent":  newWorld(spawn{task: "do", announce: toParent}, abi.RunDone, ""),
		"none":    newWorld(spawn{task: "do", announce: toNobody}, abi.RunDone, ""),
		"deleted": newWorld(spawn{task: "do", announce: toChannel, deletes: true}, abi.RunDone, ""),
		"mute":    newWorld(spawn{task: "mute", announce: toChannel}, abi.RunDone, ""),
		"hush":    newWorld(spawn{task: "hush", announce: toParent}, abi.RunDone, ""),
		"bare":    newWorld(spawn{task: "bare", announce: toChannel}, abi.RunDone, ""),
		"fail":    newWorld(spawn{task: "fail", announce: toChannel}, abi.RunFailed, e2e.ModelFailure),
		"slow":    newWorld(spawn{task: "slow", announce: toParent}, abi.RunTimeout, "too long"),
	} {
		if got := w.verify(); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Nothing that can be wrong with a spawn goes unnoticed.
func TestSpawnThatIsWrong(t *testing.T) {
	ok := spawn{task: "do", announce: toChannel}
	parent := spawn{task: "do", announce: toParent}
	gone := spawn{task: "do", announce: toChannel, deletes: true}
	silent := spawn{task: "mute", announce: toChannel}
	text := func(w *world, from, to string) {
		d := w.story.Deliveries[0]
		w.peers = e2e.NewPeers(answer)
		d.Text = strings.ReplaceAll(d.Text, from, to)
		w.peers.Take("webhook", d.Text, "d1")
	}
	for name, test := range map[string]struct {
		call  spawn
		spoil func(*world)
	}{
		"no flow's end":    {ok, func(w *world) { w.story.Flow.Status = store.FlowParked }},
		"no run":           {ok, func(w *world) { w.story.Runs = nil }},
		"child lost":       {ok, func(w *world) { w.story.Runs = w.story.Runs[1:] }},
		"no announce run":  {ok, func(w *world) { w.story.Runs = w.story.Runs[:1] }},
		"no parent's run":  {parent, func(w *world) { w.story.Runs = w.story.Runs[:2] }},
		"two announces":    {ok, func(w *world) { w.run(*w.story.Runs[1]) }},
		"two deliveries":   {ok, func(w *world) { w.deliver(w.story.Deliveries[0].Text) }},
		"no delivery":      {ok, func(w *world) { w.story.Deliveries = nil }},
		"undelivered":      {ok, func(w *world) { w.story.Deliveries[0].Status = store.DeliverySkipped }},
		"elsewhere":        {ok, func(w *world) { w.story.Deliveries[0].SessionKey = theChild }},
		"never arrived":    {ok, func(w *world) { w.peers = e2e.NewPeers(answer) }},
		"posted besides":   {ok, func(w *world) { w.peers.Take("webhook", "hello", "") }},
		"wrong status":     {ok, func(w *world) { text(w, "success", "error") }},
		"no result":        {ok, func(w *world) { text(w, "result #x#", "-") }},
		"no notes":         {ok, func(w *world) { text(w, "notes #x#", "-") }},
		"two reports":      {ok, func(w *world) { text(w, "Notes:", "Status: success\nNotes:") }},
		"another child":    {ok, func(w *world) { text(w, "session agent:ops", "session agent:cmd") }},
		"another id":       {ok, func(w *world) { text(w, "id s1", "id s2") }},
		"wrong in parent":  {parent, func(w *world) { w.story.Runs[2].Message = "Status: error" + stats }},
		"not the parent":   {parent, func(w *world) { w.story.Runs[2].SessionKey = "agent:main:other" }},
		"with tools":       {ok, func(w *world) { w.story.Runs[1].NoTools = false }},
		"other group":      {ok, func(w *world) { w.story.Runs[0].Group = abi.GroupNested }},
		"third attempt":    {ok, func(w *world) { w.story.Runs[0].Attempt = 3 }},
		"given up early":   {ok, func(w *world) { w.story.Runs[1].Status, w.story.Runs[1].Error = abi.RunFailed, interrupted }},
		"stored twice":     {ok, func(w *world) { w.story.All.Messages["r1"] = append(w.story.All.Messages["r1"], `{"role":"user"}`) }},
		"not stored":       {ok, func(w *world) { w.story.All.Messages["r1"] = nil }},
		"step taken twice": {ok, func(w *world) { w.story.Flow.Step++ }},
		"not archived":     {ok, func(w *world) { w.story.All.Sessions[theChild].ArchivedAt = 0 }},
		"archived early":   {ok, func(w *world) { w.story.All.Sessions[theChild].ArchivedAt-- }},
		"child's status":   {ok, func(w *world) { w.story.All.Sessions[theChild].Status = abi.RunFailed }},
		"another's child":  {ok, func(w *world) { w.story.All.Sessions[theChild].SpawnedBy = theChild }},
		"child gone":       {ok, func(w *world) { delete(w.story.All.Sessions, theChild) }},
		"not deleted":      {gone, func(w *world) { w.story.All.Sessions[theChild] = &abi.Session{Key: theChild} }},
		"not forgotten":    {gone, func(w *world) { w.story.All.Messages["r1"] = []string{`{"role":"user"}`} }},
		"not silent":       {silent, func(w *world) { w.deliver("here I am") }},
		"silence unsaid":   {silent, func(w *world) { w.story.Flow.Note = "" }},
		"not accepted":     {ok, func(w *world) { w.story.Flow.Answer = []byte(`{"status":"forbidden"}`) }},
	} {
		w := newWorld(test.call, abi.RunDone, "")
		test.spoil(w)
		if got := w.verify(); len(got) == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// A run that was cut off for good is reported with the reason.
func TestSpawnInterrupted(t *testing.T) {
	reason := interrupted + ": the host ended"
	w := newWorld(spawn{task: "do", announce: toChannel}, abi.RunFailed, reason)
	w.story.Runs[0].Attempt = 2
	if got := w.verify(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	w.story.Runs[0].Error = interrupted
	if got := w.verify(); len(got) == 0 {
		t.Error("a reason that is not the run's was not noticed")
	}
}

func TestSpawnAccepted(t *testing.T) {
	c := &spawn{}
	for answer, want := range map[string]string{
		`{"status":"accepted"}`: "accepted",
		`{"status":"forbidden","error":"no more (agents.defaults.subagents.maxChildrenPerAgent is 5)"}`: "later",
		`{"status":"forbidden","error":"children spawn no children"}`:                                   "never",
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

// A load has calls of every kind, and all are of its own sessions.
func TestSpawns(t *testing.T) {
	l, choose := spawns(1), rand.New(rand.NewPCG(1, 0))
	seen := map[string]bool{}
	for range 5000 {
		c := l.next("#x#", choose).(*spawn)
		seen[c.task], seen[c.announce] = true, true
		if c.deletes {
			seen["delete"] = true
		}
		if c.channel == "" {
			seen["no channel"] = true
		}
		if c.announce == toNobody && c.deletes {
			t.Fatal("a result that nobody would ever see")
		}
		if !slices.ContainsFunc(l.sessions, func(s *abi.Session) bool { return s.Key == c.from && s.DeliveryContext.Channel == c.channel }) {
			t.Fatalf("%s spawns to %q", c.from, c.channel)
		}
	}
	if want := len(tasks) + 5; len(seen) != want {
		t.Errorf("%v, want %d", seen, want)
	}
}
