package main

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// verify walks through all that must have followed from the spawn, in its order.
func (c *spawn) verify(t *tally, s *story, o *outside) {
	w := &walk{tally: t, call: c, story: s, outside: o, left: s.runs}
	answer := gjson.ParseBytes(s.flow.Answer)
	w.child = answer.Get("childSessionKey").Str
	kind := tasks[c.task]
	work := w.turn(&turn{session: w.child, group: abi.GroupSubagent, message: c.message(), ends: ends(kind.work)})
	if work == nil {
		return
	}
	if answer.Get("status").Str != "accepted" || answer.Get("runId").Str != work.ID || !childKey.MatchString(w.child) {
		w.fail("the answer is %s, and the child's run %s", answer.Raw, work.ID)
	}
	if say := c.says(kind.work); work.Status == abi.RunDone && work.Reply != say {
		w.fail("the child answered %q, want %q", work.Reply, say)
	}
	switch {
	case c.announce == toNobody:
		w.quiet("stored only")
	case work.Status == abi.RunDone && work.Reply == silence:
		w.quiet("silent")
	default:
		w.announced(work)
	}
	for _, r := range w.left {
		w.fail("run %s in %s is one too many", r.ID, r.SessionKey)
	}
	w.childIs(work)
}

// walk goes through what followed from a spawn.
type walk struct {
	*tally
	call    *spawn
	story   *story
	outside *outside
	child   string       // session key
	left    []*store.Run // not looked at
}

func (w *walk) fail(format string, args ...any) {
	w.tally.fail("%s: %s", w.call, fmt.Sprintf(format, args...))
}

// turn is a run as it must be.
type turn struct {
	session, group, message string
	noTools                 bool
	ends                    string
}

// turn looks at the next run, and returns it.
func (w *walk) turn(want *turn) *store.Run {
	if len(w.left) == 0 {
		w.fail("there is no run in %s that is %s", want.session, want.ends)
		return nil
	}
	r := w.left[0]
	w.left = w.left[1:]
	w.ended(w.story, r, want.ends)
	if r.SessionKey != want.session || r.Group != want.group || r.NoTools != want.noTools || want.message != "" && r.Message != want.message {
		w.fail("run %s is in %s, of group %s, without tools %v, to %q, want %+v", r.ID, r.SessionKey, r.Group, r.NoTools, r.Message, *want)
	}
	return r
}

// quiet fails unless nothing was said to anybody.
func (w *walk) quiet(how string) {
	if n := len(w.story.deliveries); n > 0 {
		w.fail("%d deliveries of what is %s", n, how)
	}
	if !strings.Contains(w.story.flow.Note, how) {
		w.fail("the flow says %q, want %q", w.story.flow.Note, how)
	}
	w.came(how)
}

// announced looks at the announce, and at who was told.
func (w *walk) announced(work *store.Run) {
	say := tasks[w.call.task].announce
	announce := w.turn(&turn{session: w.child, group: abi.GroupNested, noTools: true, ends: ends(say)})
	if announce == nil {
		return
	}
	if announce.Status == abi.RunDone && announce.Reply == silence {
		w.quiet("silent")
		return
	}
	want := w.report(work, announce)
	if w.call.announce == toChannel && w.call.receiver != "" {
		w.delivered(want.unlike)
		w.came("announced " + want.status)
		return
	}
	parent := w.turn(&turn{session: w.call.from, group: abi.GroupNested, ends: abi.RunDone})
	if parent == nil {
		return
	}
	if problem := want.unlike(parent.Message); problem != "" {
		w.fail("the requester's message %s", problem)
	}
	w.came("reported " + want.status)
	switch n := len(w.story.deliveries); {
	case parent.Status == abi.RunDone && w.call.receiver != "":
		w.delivered(exactly(heard(w.child)))
	case n > 0 && parent.Status == abi.RunDone:
		w.fail("%d deliveries, though the requester has no channel", n)
	case n > 0:
		w.fail("%d deliveries, though the requester answered nothing", n)
	}
}

// delivered looks for one delivery, whose text is not unlike what it must be, and for
// its post.
func (w *walk) delivered(unlike func(text string) string) {
	if n := len(w.story.deliveries); n != 1 {
		w.fail("%d deliveries, want one", n)
		return
	}
	d := w.story.deliveries[0]
	if d.Status != store.DeliveryDelivered || d.SessionKey != w.call.from {
		w.fail("delivery %s to %s is %s, want it delivered to %s: %s", d.ID, d.SessionKey, d.Status, w.call.from, d.Error)
	}
	if problem := unlike(d.Text); problem != "" {
		w.fail("delivery %s %s", d.ID, problem)
	}
	w.arrived(w.story, w.outside, w.call.receiver, d.Text)
}

// childIs looks at the child's session, and that it went when it was to, and at the
// number of steps: each step but the first, and the one that archives, follows the
// end of a run, so that none was taken twice.
func (w *walk) childIs(work *store.Run) {
	s, steps := w.story.all.Sessions[w.child], 1+len(w.story.runs)
	if !w.call.deletes {
		steps++
	}
	if n := w.story.flow.Step; n != steps {
		w.fail("%d steps for %d runs, want %d", n, len(w.story.runs), steps)
	}
	switch {
	case w.call.deletes && s != nil:
		w.fail("the child %s is still there", w.child)
	case w.call.deletes:
	case s == nil:
		w.fail("the child %s is gone", w.child)
	case s.Status != work.Status || s.SpawnedBy != w.call.from:
		w.fail("the child %s is %s, of %s; its run is %s", w.child, s.Status, s.SpawnedBy, work.Status)
	case s.ArchivedAt < work.EndedAt+archiveAfter.Milliseconds():
		w.fail("the child %s was archived at %d, its run ended at %d", w.child, s.ArchivedAt, work.EndedAt)
	}
}
