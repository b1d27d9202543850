package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store"
)

// Destinations of the announce of a spawn (S5.6).
const (
	announceChannel = "channel"
	announceParent  = "parent"
	announceNone    = "none"
)

// spawn is a sessions_spawn: a child's run and its announce.
type spawn struct {
	tag      string
	from     string
	channel  string // of the requester; empty: none
	agent    string
	task     string // a key of tasks
	announce string
	deletes  bool // the child's session is deleted at the end
}

var _ call = (*spawn)(nil)

func (c *spawn) message() string { return c.task + " " + c.tag }

func (c *spawn) request() *e2e.Request {
	cleanup := "keep"
	if c.deletes {
		cleanup = "delete"
	}
	args, _ := json.Marshal(map[string]any{
		"task": c.message(), "agentId": c.agent, "label": "child " + c.tag,
		"announce": c.announce, "cleanup": cleanup, "runTimeoutSeconds": tasks[c.task].seconds,
	})
	return &e2e.Request{Tool: abi.ToolSpawn, SessionKey: c.from, Args: args}
}

// accepted returns no error for a requester that has the maximum number of children: the
// call can succeed after one of them has ended.
func (c *spawn) accepted(answer gjson.Result) (bool, error) {
	switch status := answer.Get("status").Str; {
	case status == "accepted":
		return true, nil
	case status == "forbidden" && strings.Contains(answer.Get("error").Str, "maxChildrenPerAgent"):
		return false, nil
	}
	return false, errors.New("unexpected answer: " + answer.Raw)
}

// fill replaces # by the tag of this spawn.
func (c *spawn) fill(text string) string { return strings.ReplaceAll(text, "#", c.tag) }

func (c *spawn) verify(v *verification) {
	answer, work := gjson.ParseBytes(v.Flow.Answer), v.run(0)
	child := answer.Get("childSessionKey").Str
	if answer.Get("status").Str != "accepted" || answer.Get("runId").Str != work.ID || !childKey.MatchString(child) {
		v.Fail("the answer is %s, the child's run %s", answer.Raw, work.ID)
	}
	want, outcome := c.expect(v, child)
	if !c.deletes {
		want.steps++ // the child is archived
	}
	v.match(want)
	v.Count(outcome, 1)
	c.verifyChild(v, child, work)
}

// expect returns the expected result, which depends on the runs that were interrupted, and
// the name of its count.
func (c *spawn) expect(v *verification, child string) (want *expectation, outcome string) {
	task, work, announce, parent := tasks[c.task], v.run(0), v.run(1), v.run(2)
	want = &expectation{from: c.from, channel: c.channel}
	expect := func(r expectedRun, reply string) {
		r.status, r.reply = statusAfter(reply), c.fill(reply)
		want.runs = append(want.runs, r)
	}
	expect(expectedRun{session: child, group: abi.GroupSubagent, message: exactly(c.message())}, task.work)
	switch {
	case c.announce == announceNone:
		want.note = "stored only"
		return want, want.note
	case work.Reply == announceSkip:
		want.note = "silent"
		return want, want.note
	}
	expect(expectedRun{session: child, group: abi.GroupNested, noTools: true}, task.announce)
	if announce.Reply == announceSkip {
		want.note = "silent"
		return want, want.note
	}
	report := c.report(v, child, work, announce)
	if c.announce == announceChannel && c.channel != "" {
		want.delivery = report
		return want, "announced " + statuses[work.Status]
	}
	expect(expectedRun{session: c.from, group: abi.GroupNested, message: report}, replyToReport(child))
	if parent.Status == abi.RunDone && c.channel != "" {
		want.delivery = exactly(replyToReport(child))
	}
	return want, "reported " + statuses[work.Status]
}

// statuses are the statuses of a run in a report (S5.5).
var statuses = map[string]string{
	abi.RunDone: "success", abi.RunFailed: "error", abi.RunTimeout: "timeout", abi.RunKilled: "killed",
}

// report returns the expected report on a child's run: the reply to the announce request,
// or only the run's result if there is no such reply.
func (c *spawn) report(v *verification, child string, work, announce *store.Run) *regexp.Regexp {
	result, notes, id, transcript := "-", "-", `\S+`, ""
	if s := v.All.Sessions[child]; s != nil {
		id = regexp.QuoteMeta(s.SessionID)
		if s.TranscriptPath != "" {
			transcript = " · transcript " + s.TranscriptPath
		}
	}
	if work.Reply != "" {
		result = work.Reply
	}
	if announce.Status == abi.RunDone {
		result, notes = c.fill(resultText), c.fill(notesText)
	}
	switch {
	case work.Status == abi.RunDone:
	case work.Error == "":
		v.Fail("the child's run is %s without an error", work.Status)
	case notes == "-":
		notes = work.Error
	default:
		notes += " (" + work.Error + ")"
	}
	text := fmt.Sprintf("Status: %s\nResult: %s\nNotes: %s\n\nStats: runtime ", statuses[work.Status], result, notes)
	return regexp.MustCompile("^" + regexp.QuoteMeta(text) + `\w+ · tokens [^·]+` + regexp.QuoteMeta(" · session "+child+" · id ") + id + regexp.QuoteMeta(transcript) + "$")
}

// verifyChild checks the child's session, and that it was deleted or archived at the right
// time.
func (c *spawn) verifyChild(v *verification, child string, work *store.Run) {
	s := v.All.Sessions[child]
	switch {
	case c.deletes && s != nil:
		v.Fail("the child %s was not deleted", child)
	case c.deletes:
	case s == nil:
		v.Fail("the child %s was deleted", child)
	case s.Status != work.Status || s.SpawnedBy != c.from:
		v.Fail("the child %s is %s with the parent %s; its run is %s", child, s.Status, s.SpawnedBy, work.Status)
	case s.ArchivedAt < work.EndedAt+archiveAfter.Milliseconds():
		v.Fail("the child %s was archived too early, at %d; its run ended at %d", child, s.ArchivedAt, work.EndedAt)
	}
}
