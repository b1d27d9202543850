package main

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store"
)

// call is a tool call that begins an exchange: a send or a spawn.
type call interface {
	request() *e2e.Request
	// accepted reports whether an answer says that the call was accepted. If not, and
	// without an error, the call may be made again later.
	accepted(answer gjson.Result) (bool, error)
	// verify checks what followed from the call. Its flow is done.
	verify(v *verification)
}

// Counts of a report.
const (
	countKills       = "kills"
	countStops       = "stops"
	countRandomKills = "randomKills"
	countExchanges   = "exchanges"
	countRefused     = "refusedForNow"
	countBetween     = "haltedBetweenPostAndRecord"
	countRetries     = "furtherAttempts"
	countInterrupted = "interruptedRuns"
	countReposts     = "repeatedPosts"    // posts of a text beyond the first
	countRepeats     = "repeatedMessages" // messages that a reader sees beyond the first
)

// verification compares what is stored and what was posted of one exchange with what
// must have followed from its call.
type verification struct {
	*e2e.Report
	*e2e.Story
	peers    *e2e.Peers
	attempts int // that a run may have
}

func (v *verification) check(c call) {
	v.Count(countExchanges, 1)
	if f := v.Flow; f.Status != store.FlowDone {
		v.Fail("the flow is %s at step %d: %s %s", f.Status, f.Step, f.Note, f.Error)
		return
	}
	c.verify(v)
}

// run returns a run of the exchange by its number, or an empty one.
func (v *verification) run(n int) *store.Run {
	if n < len(v.Runs) {
		return v.Runs[n]
	}
	return &store.Run{}
}

// expectedRun is a run as it must be. An empty text is not compared.
type expectedRun struct {
	session, group string
	noTools        bool
	message        *regexp.Regexp // nil: any
	status, reply  string
}

// expectation is what must have followed from a call.
type expectation struct {
	runs     []expectedRun
	steps    int            // besides the first and one for each run
	note     string         // part of the flow's note
	delivery *regexp.Regexp // the text of the only delivery; nil: there is none
	from     string         // the delivery's session
	channel  string
}

func exactly(text string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.QuoteMeta(text) + "$")
}

// match compares the exchange with the expectation. Each step but the first follows the
// end of a run, unless steps says otherwise, so the number of steps shows that no step was
// taken twice.
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
		v.Fail("delivery %s of %s is %s with %q, want it delivered of %s with %s: %s", d.ID, d.SessionKey, d.Status, d.Text, want.from, want.delivery, d.Error)
	}
	v.arrived(want.channel, d.Text)
}

func (v *verification) matchRun(r *store.Run, want *expectedRun) {
	if !v.ended(r, want.status) {
		return
	}
	if r.SessionKey != want.session || r.Group != want.group || r.NoTools != want.noTools ||
		want.message != nil && !want.message.MatchString(r.Message) || r.Status == abi.RunDone && r.Reply != want.reply {
		v.Fail("run %s in %s, of group %s, without tools %v, to %q, has the reply %q, want %+v", r.ID, r.SessionKey, r.Group, r.NoTools, r.Message, r.Reply, *want)
	}
}

// interrupted begins the error of a run whose last attempt was interrupted.
const interrupted = "interrupted"

// ended checks a run that must have ended with a status, once, or as interrupted with
// all its attempts used. It reports whether the run is as it must be.
func (v *verification) ended(r *store.Run, status string) bool {
	if r.Attempt > 1 {
		v.Count(countRetries, 1)
	}
	users, answers := v.Messages(r, "user"), v.Messages(r, "assistant")
	wantUsers, wantAnswers := 1, 0
	if r.Status == abi.RunDone {
		wantAnswers = 1
	}
	if v.All.Sessions[r.SessionKey] == nil { // its transcript was deleted with it
		wantUsers, wantAnswers = 0, 0
	}
	cut := r.Status == abi.RunFailed && strings.HasPrefix(r.Error, interrupted)
	switch {
	case r.Attempt < 1 || r.Attempt > v.attempts, users != wantUsers, answers != wantAnswers:
	case cut && r.Attempt == v.attempts:
		v.Count(countInterrupted, 1)
		return true
	case !cut && r.Status == status:
		return true
	}
	v.Fail("run %q in %s is %q after %d attempts with %d user and %d assistant messages, want %s, %d and %d: %s",
		r.ID, r.SessionKey, r.Status, r.Attempt, users, answers, status, wantUsers, wantAnswers, r.Error)
	return false
}

// arrived checks that a text was posted, and counts how often.
func (v *verification) arrived(channel, text string) {
	arrived, accepted := v.peers.Posts(channel, text)
	if accepted == 0 {
		v.Fail("never arrived at %s: %q", channel, text)
	}
	v.Count(countReposts, max(arrived-1, 0))
	v.Count(countRepeats, max(accepted-1, 0))
}
