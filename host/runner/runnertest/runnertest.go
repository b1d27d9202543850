// Package runnertest checks whether a runner behaves as runner.Runner promises:
// Exercise runs against every kind of runner. Session is what a host gives to a
// runner, kept in memory.
package runnertest

import (
	"testing"

	"github.com/parley-wasm/parley/host/runner"
)

// Behaviour is what a runner does with every turn. The zero value answers
// with an empty text.
type Behaviour struct {
	Text  string // the answer; {{result}} in it stands for the result of Tool
	Error string // the turn fails, and the error contains this
	Hang  bool   // the turn does not end by itself
	Tool  string // called first, if the turn has tools …
	Args  string // … with these arguments
}

// Subject is a runner that behaves so.
type Subject struct {
	Runner runner.Runner
	// Hanging is closed when a turn has begun to hang. nil: there is nothing to
	// wait for.
	Hanging <-chan struct{}
	// Gone fails the test if something is left of a turn that was cancelled. nil:
	// the runner works within Run alone.
	Gone func(t *testing.T)
	// Silent says that the runner appends nothing: its tool calls do not pass
	// through it.
	Silent bool
}

// Exercise runs the suite. open is called for each test; what it opens it closes
// with t.Cleanup.
func Exercise(t *testing.T, open func(t *testing.T, b Behaviour) *Subject) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open func(t *testing.T, b Behaviour) *Subject)
	}{
		{"Answer", answer},
		{"EmptyAnswer", emptyAnswer},
		{"Concurrent", concurrent},
		{"Error", failure},
		{"Cancel", cancelled},
		{"CancelledBefore", cancelledBefore},
		{"CancelInTool", cancelInTool},
		{"Tool", tool},
		{"ToolFails", toolFails},
		{"NoTools", noTools},
		{"InvalidUTF8", invalidUTF8},
		{"SecondAttempt", interruptAfterCall},
		{"SecondAttemptAfterResult", interruptAfterResult},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}
