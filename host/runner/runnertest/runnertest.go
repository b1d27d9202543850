// Package runnertest tests implementations of runner.Runner: Exercise runs the suite
// against every kind of runner. Session is an in-memory implementation of the
// transcript and tools that a host gives to a runner.
package runnertest

import (
	"testing"

	"github.com/parley-wasm/parley/host/runner"
)

// Behaviour configures how a runner under test handles every turn. The zero value
// answers with an empty text.
type Behaviour struct {
	Text  string // the answer; {{result}} is replaced by the result of Tool
	Error string // the turn fails with an error that contains this text
	Hang  bool   // the turn does not end by itself
	Tool  string // called before the answer, if the turn has tools
	Args  string // arguments of the call of Tool
}

// Subject is a runner under test with a given Behaviour.
type Subject struct {
	Runner runner.Runner
	// Hanging is closed when a turn has begun to hang. nil: tests need not wait.
	Hanging <-chan struct{}
	// AssertStopped fails the test if a cancelled turn left anything running. nil: the
	// runner runs nothing outside of Run.
	AssertStopped func(t *testing.T)
	// Silent is set if the runner appends no messages, because its program calls the
	// tools without the runner.
	Silent bool
}

// Exercise runs the suite. It calls open for each test; open must register the
// cleanup of its subject with t.Cleanup.
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
