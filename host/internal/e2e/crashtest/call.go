package main

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// call is a tool call of which much follows, and that knows what must: a send or
// a spawn.
type call interface {
	caller() string // session key
	tool() string
	args() map[string]any
	// accepted reports whether an answer says that the call was accepted; if not,
	// and without an error, it may be made again later.
	accepted(answer gjson.Result) (bool, error)
	// verify looks at what is stored of the call and at what came of it outside.
	// Its flow is done.
	verify(t *tally, s *story, o *outside)
}

// verify looks at a call whose flow must have ended well.
func (t *tally) verify(c call, s *story, o *outside) {
	t.exchanges++
	if f := s.flow; f.Status != store.FlowDone {
		t.fail("%s: the flow is %s at step %d: %s %s", f.Call.ID, f.Status, f.Step, f.Note, f.Error)
		return
	}
	c.verify(t, s, o)
}

// interrupted begins the error of a run that was cut off in its last attempt.
const interrupted = "interrupted"

// ended looks at a run that must have ended in one way, once, or as interrupted
// with all its attempts used. It reports whether it is the first.
func (t *tally) ended(s *story, r *store.Run, status string) bool {
	if r.Attempt > 1 {
		t.attempts++
	}
	users, answers := s.messages(r)
	wantUsers, wantAnswers := 1, 0
	if r.Status == abi.RunDone {
		wantAnswers = 1
	}
	if s.all.Sessions[r.SessionKey] == nil { // its transcript went with it
		wantUsers, wantAnswers = 0, 0
	}
	cut := r.Status == abi.RunFailed && strings.HasPrefix(r.Error, interrupted)
	switch {
	case r.Attempt < 1 || r.Attempt > s.attempts, users != wantUsers, answers != wantAnswers:
	case cut && r.Attempt == s.attempts:
		t.interrupted++
		return false
	case !cut && r.Status == status:
		return true
	}
	t.fail("%s: run %s is %s after %d attempts with %d user and %d assistant messages, want %s, %d and %d: %s",
		s.flow.Call.ID, r.ID, r.Status, r.Attempt, users, answers, status, wantUsers, wantAnswers, r.Error)
	return false
}

// arrived looks at a text that must have been posted.
func (t *tally) arrived(s *story, o *outside, receiver, text string) {
	arrived, accepted := o.posts(receiver, text)
	if accepted == 0 {
		t.fail("%s: never arrived at %s: %q", s.flow.Call.ID, receiver, text)
	}
	t.reposts += max(arrived-1, 0)
	t.repeats += max(accepted-1, 0)
}

// nothingElse fails for what was posted though nothing asked for it.
func (t *tally) nothingElse(o *outside) {
	for _, p := range o.others() {
		t.fail("posted to %s, and not to be: %q", p.receiver, p.text)
	}
}
