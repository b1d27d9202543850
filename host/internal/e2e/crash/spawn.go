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

// Where the result of a spawn is announced (S5.6).
const (
	toChannel = "channel"
	toParent  = "parent"
	toNobody  = "none"
)

// spawn is a sessions_spawn: a child's run, and its announce.
type spawn struct {
	tag      string
	from     string
	channel  string // of the requester; empty: it has none
	agent    string
	task     string // a word of tasks
	announce string
	deletes  bool // the child's session, at the end
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

// accepted distinguishes the refusal of a requester that has enough children, which ends
// when one of them does, from all others.
func (c *spawn) accepted(answer gjson.Result) (bool, error) {
	switch status := answer.Get("status").Str; {
	case status == "accepted":
		return true, nil
	case status == "forbidden" && strings.Contains(answer.Get("error").Str, "maxChildrenPerAgent"):
		return false, nil
	}
	return false, errors.New("answered " + answer.Raw)
}

// says returns an agent's text in this spawn.
func (c *spawn) says(text string) string { return strings.ReplaceAll(text, "#", c.tag) }

func (c *spawn) verify(v *verification) {
	answer, work := gjson.ParseBytes(v.Flow.Answer), v.run(0)
	child := answer.Get("childSessionKey").Str
	if answer.Get("status").Str != "accepted" || answer.Get("runId").Str != work.ID || !childKey.MatchString(child) {
		v.Fail("the answer is %s, and the child's run %s", answer.Raw, work.ID)
	}
	want, outcome := c.expect(v, child)
	if !c.deletes {
		want.steps++ // the child is archived
	}
	v.match(want)
	v.Count(outcome, 1)
	c.verifyChild(v, child, work)
}

// expect returns what must have followed, which depends on the runs that were interrupted,
// and a name for how the result was reported.
func (c *spawn) expect(v *verification, child string) (want *expectation, outcome string) {
	task, work, announce, told := tasks[c.task], v.run(0), v.run(1), v.run(2)
	want = &expectation{from: c.from, channel: c.channel}
	expect := func(r expectedRun, answer string) {
		r.status, r.reply = statusAfter(answer), c.says(answer)
		want.runs = append(want.runs, r)
	}
	expect(expectedRun{session: child, group: abi.GroupSubagent, message: exactly(c.message())}, task.work)
	switch {
	case c.announce == toNobody:
		want.note = "stored only"
		return want, want.note
	case work.Reply == silence:
		want.note = "silent"
		return want, want.note
	}
	expect(expectedRun{session: child, group: abi.GroupNested, noTools: true}, task.announce)
	if announce.Reply == silence {
		want.note = "silent"
		return want, want.note
	}
	report := c.report(v, child, work, announce)
	if c.announce == toChannel && c.channel != "" {
		want.delivery = report
		return want, "announced " + statuses[work.Status]
	}
	expect(expectedRun{session: c.from, group: abi.GroupNested, message: report}, heard(child))
	if told.Status == abi.RunDone && c.channel != "" {
		want.delivery = exactly(heard(child))
	}
	return want, "reported " + statuses[work.Status]
}

// statuses are the words for how a run ended (S5.5).
var statuses = map[string]string{
	abi.RunDone: "success", abi.RunFailed: "error", abi.RunTimeout: "timeout", abi.RunKilled: "killed",
}

// report returns the form of the report on a child's run: what its announce says, or else
// the result alone.
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
		result, notes = c.says(resultText), c.says(notesText)
	}
	switch {
	case work.Status == abi.RunDone:
	case work.Error == "":
		v.Fail("the child's run is %s without a reason", work.Status)
	case notes == "-":
		notes = work.Error
	default:
		notes += " (" + work.Error + ")"
	}
	text := fmt.Sprintf("Status: %s\nResult: %s\nNotes: %s\n\nStats: runtime ", statuses[work.Status], result, notes)
	return regexp.MustCompile("^" + regexp.QuoteMeta(text) + `\w+ · tokens [^·]+` + regexp.QuoteMeta(" · session "+child+" · id ") + id + regexp.QuoteMeta(transcript) + "$")
}

// verifyChild checks the child's session, and that it was archived in time or deleted.
func (c *spawn) verifyChild(v *verification, child string, work *store.Run) {
	s := v.All.Sessions[child]
	switch {
	case c.deletes && s != nil:
		v.Fail("the child %s was not deleted", child)
	case c.deletes:
	case s == nil:
		v.Fail("the child %s was deleted", child)
	case s.Status != work.Status || s.SpawnedBy != c.from:
		v.Fail("the child %s is %s, of %s; its run is %s", child, s.Status, s.SpawnedBy, work.Status)
	case s.ArchivedAt < work.EndedAt+archiveAfter.Milliseconds():
		v.Fail("the child %s was archived at %d, its run ended at %d", child, s.ArchivedAt, work.EndedAt)
	}
}
