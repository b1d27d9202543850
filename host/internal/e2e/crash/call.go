package main

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store"
)

// call is the tool call of a trial: a send or a spawn.
type call interface {
	request() *e2e.Request
	// accepted reports whether the call was accepted according to the answer. If it
	// returns false without an error, the call may be repeated later.
	accepted(answer gjson.Result) (bool, error)
	// verify checks the results of the call. Its flow must be done.
	verify(v *verification)
}

// Counts of a report.
const (
	countKills       = "kills"
	countStops       = "stops"
	countRandomKills = "randomKills"
	countVerified    = "verifiedCalls"
	countRefused     = "refusedForNow"
	countBetween     = "haltedBetweenPostAndRecord"
	countRetries     = "furtherAttempts"
	countInterrupted = "interruptedRuns"
	countReposts     = "repeatedPosts"    // posts of a text beyond the first
	countRepeats     = "repeatedMessages" // posts of a text beyond the first that a reader sees
)

// verification compares the stored rows and the posts of one call with the expected ones.
type verification struct {
	*e2e.Report
	*e2e.FlowRows
	peers    *e2e.Peers
	attempts int // maximum for a run
}

func (v *verification) check(c call) {
	v.Count(countVerified, 1)
	if f := v.Flow; f.Status != store.FlowDone {
		v.Fail("the flow is %s at step %d: %s %s", f.Status, f.Step, f.Note, f.Error)
		return
	}
	c.verify(v)
}

// run returns the nth run of the call, or an empty one.
func (v *verification) run(n int) *store.Run {
	if n < len(v.Runs) {
		return v.Runs[n]
	}
	return &store.Run{}
}

// expectedRun is the expected content of a run.
type expectedRun struct {
	session, group string
	noTools        bool
	message        *regexp.Regexp // nil: any
	status, reply  string
}

// expectation is the expected result of a call.
type expectation struct {
	runs     []expectedRun
	steps    int            // beyond the first step and one for each run
	note     string         // contained in the flow's note
	delivery *regexp.Regexp // the text of the only delivery; nil: no delivery
	from     string         // the delivery's session
	channel  string
}

func exactly(text string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.QuoteMeta(text) + "$")
}

// match compares the rows and posts of the call with the expectation. Each step except the
// first and want.steps others follows the end of a run, so the number of steps shows that
// no step ran twice.
func (v *verification) match(want *expectation) {
	for i := range want.runs {
		v.matchRun(v.run(i), &want.runs[i])
	}
	if len(v.Runs) != len(want.runs) {
		v.Fail("%d runs, want %d", len(v.Runs), len(want.runs))
	}
	if n := 1 + len(v.Runs) + want.steps; v.Flow.Step != n {
		v.Fail("%d steps for %d runs, want %d", v.Flow.Step, len(v.Runs), n)
	}
	if !strings.Contains(v.Flow.Note, want.note) {
		v.Fail("the flow's note is %q, want %q", v.Flow.Note, want.note)
	}
	if want.delivery == nil {
		for _, d := range v.Deliveries {
			v.Fail("delivery %s, want none: %q", d.ID, d.Text)
		}
		return
	}
	if len(v.Deliveries) != 1 {
		v.Fail("%d deliveries, want one", len(v.Deliveries))
		return
	}
	d := v.Deliveries[0]
	if d.Status != store.DeliveryDelivered || d.SessionKey != want.from || !want.delivery.MatchString(d.Text) {
		v.Fail("delivery %s of %s is %s with %q, want a delivered one of %s with %s: %s", d.ID, d.SessionKey, d.Status, d.Text, want.from, want.delivery, d.Error)
	}
	v.checkPosts(want.channel, d.Text)
}

func (v *verification) matchRun(r *store.Run, want *expectedRun) {
	if !v.checkEnd(r, want.status) {
		return
	}
	if r.SessionKey != want.session || r.Group != want.group || r.NoTools != want.noTools ||
		want.message != nil && !want.message.MatchString(r.Message) || r.Status == abi.RunDone && r.Reply != want.reply {
		v.Fail("run %s in %s: group %s, no tools %v, message %q, reply %q; want %+v", r.ID, r.SessionKey, r.Group, r.NoTools, r.Message, r.Reply, *want)
	}
}

// interrupted is the prefix of the error of a run whose last attempt was interrupted.
const interrupted = "interrupted"

// checkEnd checks that a run has ended once, with this status or, if it has no attempts
// left, as interrupted. It returns false after it has added a problem.
func (v *verification) checkEnd(r *store.Run, status string) bool {
	if r.Attempt > 1 {
		v.Count(countRetries, 1)
	}
	users, answers := v.Messages(r, "user"), v.Messages(r, "assistant")
	wantUsers, wantAnswers := 1, 0
	if r.Status == abi.RunDone {
		wantAnswers = 1
	}
	if v.All.Sessions[r.SessionKey] == nil { // the transcript was deleted with the session
		wantUsers, wantAnswers = 0, 0
	}
	wasInterrupted := r.Status == abi.RunFailed && strings.HasPrefix(r.Error, interrupted)
	switch {
	case r.Attempt < 1 || r.Attempt > v.attempts, users != wantUsers, answers != wantAnswers:
	case wasInterrupted && r.Attempt == v.attempts:
		v.Count(countInterrupted, 1)
		return true
	case !wasInterrupted && r.Status == status:
		return true
	}
	v.Fail("run %q in %s is %q after %d attempts with %d user and %d assistant messages, want %s, %d and %d: %s",
		r.ID, r.SessionKey, r.Status, r.Attempt, users, answers, status, wantUsers, wantAnswers, r.Error)
	return false
}

// checkPosts checks that a text was posted, and counts repeated posts.
func (v *verification) checkPosts(channel, text string) {
	arrived, accepted := v.peers.Posts(channel, text)
	if accepted == 0 {
		v.Fail("not posted to %s: %q", channel, text)
	}
	v.Count(countReposts, max(arrived-1, 0))
	v.Count(countRepeats, max(accepted-1, 0))
}
