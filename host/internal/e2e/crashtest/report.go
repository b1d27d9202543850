package main

import (
	"fmt"
	"regexp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// report is the text of an announce as it must be.
type report struct {
	status, result, notes string
	child, session        string // key and id; an id that nobody knows any more is empty
	path                  string // of its transcript
}

// statuses are the words for how a run ended (S5.5).
var statuses = map[string]string{
	abi.RunDone: "success", abi.RunFailed: "error", abi.RunTimeout: "timeout", abi.RunKilled: "killed",
}

// report is how the child's run must have been reported: what its announce says,
// or else the result alone.
func (w *walk) report(work, announce *store.Run) *report {
	r := &report{status: statuses[work.Status], child: w.child}
	if s := w.story.all.Sessions[w.child]; s != nil {
		r.session, r.path = s.SessionID, s.TranscriptPath
	}
	r.result, r.notes = "-", "-"
	if work.Reply != "" {
		r.result = work.Reply
	}
	if announce.Status == abi.RunDone {
		r.result, r.notes = w.call.says(resultSaid), w.call.says(notesSaid)
	}
	if work.Status != abi.RunDone {
		if work.Error == "" {
			w.fail("nobody knows why the child's run is %s", work.Status)
		}
		if r.notes == "-" {
			r.notes = work.Error
		} else {
			r.notes += " (" + work.Error + ")"
		}
	}
	return r
}

var reportForm = regexp.MustCompile(`^Status: (\w+)\nResult: (.*)\nNotes: (.*)\n\nStats: runtime \w+ · tokens [^·]+ · session (\S+) · id (\S+)(?: · transcript (\S+))?$`)

// unlike says in what a text is not the one that it must be, or is empty.
func (r *report) unlike(text string) string {
	m := reportForm.FindStringSubmatch(text)
	switch {
	case m == nil:
		return fmt.Sprintf("is no report: %q", text)
	case m[1] != r.status, m[2] != r.result, m[3] != r.notes, m[4] != r.child,
		r.session != "" && m[5] != r.session, m[6] != r.path:
		return fmt.Sprintf("is %q, want %+v", text, *r)
	}
	return ""
}

// exactly is unlike for any other text.
func exactly(want string) func(text string) string {
	return func(text string) string {
		if text == want {
			return ""
		}
		return fmt.Sprintf("is %q, want %q", text, want)
	}
}
