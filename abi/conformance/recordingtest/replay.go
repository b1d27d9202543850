package recordingtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// Replay is the host's side of one exchange: Call answers host calls from the
// recording, and Finish returns the differences.
type Replay struct {
	exchange *Exchange
	next     int
	problems []string
}

// Replay starts a replay of the exchange.
func (x *Exchange) Replay() *Replay { return &Replay{exchange: x} }

// Call answers one host call.
func (r *Replay) Call(namespace string, request []byte) []byte {
	if r.next >= len(r.exchange.Calls) {
		r.problems = append(r.problems, fmt.Sprintf("call %d was not recorded: %s %s", r.next+1, namespace, request))
		return []byte(`{"error":{"code":"internal","message":"not recorded"}}`)
	}
	c := r.exchange.Calls[r.next]
	r.next++
	if namespace != c.Namespace {
		r.problems = append(r.problems, fmt.Sprintf("call %d: got namespace %s, want %s", r.next, namespace, c.Namespace))
	}
	r.compare(fmt.Sprintf("call %d", r.next), request, c.Request)
	return c.Reply
}

// Finish compares the output and returns all differences of the exchange.
func (r *Replay) Finish(output []byte) []string {
	if r.next < len(r.exchange.Calls) {
		r.problems = append(r.problems, fmt.Sprintf("%d host calls, want %d", r.next, len(r.exchange.Calls)))
	}
	r.compare("output", output, r.exchange.Output)
	return r.problems
}

// ReplayAll replays the recordings of a file or below a folder. run must call the
// export x.Export, and answer its host calls with r.Call. The test fails if there are no
// recordings; it logs the number that passed.
func ReplayAll(t *testing.T, path string, run func(x *Exchange, r *Replay) (output []byte, err error)) {
	t.Helper()
	all, err := Load(path)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d recordings: %v", len(all), err)
	}
	failed := 0
	for _, one := range all {
		var problems []string
		for i := range one.Exchanges {
			x := &one.Exchanges[i]
			r := x.Replay()
			output, err := run(x, r)
			if err != nil {
				r.problems = append(r.problems, err.Error())
			} else {
				r.Finish(output)
			}
			for _, problem := range r.problems {
				problems = append(problems, fmt.Sprintf("%s: exchange %d: %s", one.ID, i, problem))
			}
		}
		for _, problem := range problems {
			t.Error(problem)
		}
		failed += min(len(problems), 1)
	}
	t.Logf("%d passed, %d failed", len(all)-failed, failed)
}

func (r *Replay) compare(what string, got, want []byte) {
	g, err1 := jsonvalue.Parse(got)
	w, err2 := jsonvalue.Parse(want)
	if err := errors.Join(err1, err2); err != nil {
		r.problems = append(r.problems, what+": "+err.Error())
		return
	}
	for _, line := range vector.Diff(g, w) {
		r.problems = append(r.problems, what+": "+line)
	}
}
