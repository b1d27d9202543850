// Package script is the agent that answers from a list, for tests, demos and
// conformance: the n-th run of a session gets the n-th reply, and the last reply
// again when they are used up.
//
// It keeps no counters. How many runs a session has had is read off its
// transcript: each run that started stored one user message, however it ended.
// So a second attempt at a run gets the same reply as the first, and a restart
// changes nothing. What it counts is bounded like every prompt, by messages and
// bytes; the bounds are wide enough for transcripts whose runs this agent
// executed. A session that was imported, or that another agent took part in,
// counts the user messages among its newest messages.
package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

// Options say what is answered.
type Options struct {
	Replies []Reply // at least one
}

// Reply is one scripted answer.
type Reply struct {
	// Text is the answer. In it {{message}} stands for the run's user message and
	// {{result}} for the result of Tool.
	Text  string
	After time.Duration // how long the answer takes
	Error string        // the run fails with this instead
	Tool  string        // a tool to call first …
	Args  []byte        // … with these arguments, JSON; empty: {}
	Usage *abi.Usage    // what the answer is said to have taken of the model that the turn asks for; nil: no model ran
}

// Agent answers from a list.
type Agent struct {
	replies []Reply
}

var _ runner.Runner = (*Agent)(nil)

// New returns the agent.
func New(o *Options) (*Agent, error) {
	if o == nil || len(o.Replies) == 0 {
		return nil, errors.New("script: no replies; give at least one")
	}
	return &Agent{replies: append([]Reply(nil), o.Replies...)}, nil
}

// Each run of this agent leaves at most the user message, the tool call, its
// result, and the answer.
const messagesPerRun = 4

// maxHistoryBytes is how much of a transcript is counted.
const maxHistoryBytes = 64 << 20

// Run implements runner.Runner.
func (a *Agent) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	n, err := a.earlierRuns(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	reply := &a.replies[min(n, len(a.replies)-1)]
	if err := pause(ctx, reply.After); err != nil {
		return nil, err
	}
	result, err := reply.call(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if reply.Error != "" {
		return nil, errors.New(runner.Text(reply.Error))
	}
	text := strings.NewReplacer("{{message}}", t.Message, "{{result}}", result).Replace(reply.Text)
	outcome := &runner.Outcome{Text: runner.Text(text), Usage: reply.Usage}
	if reply.Usage != nil {
		outcome.Model = t.Model
	}
	return outcome, nil
}

// earlierRuns counts no further than the last reply.
func (a *Agent) earlierRuns(ctx context.Context, t *runner.Turn) (n int, err error) {
	if len(a.replies) == 1 {
		return 0, nil
	}
	messages, err := t.Transcript.History(ctx, messagesPerRun*len(a.replies), maxHistoryBytes)
	if err != nil {
		return 0, fmt.Errorf("read the history: %w", err)
	}
	for _, raw := range messages {
		if m, ok := conversation.Parse(raw); ok && m.Role == conversation.User {
			n++
		}
	}
	return n, nil
}

// call calls the reply's tool, if it has one and the turn has tools, unless an
// earlier attempt has the result.
func (r *Reply) call(ctx context.Context, t *runner.Turn) (result string, err error) {
	if r.Tool == "" || t.Tools == nil {
		return "", nil
	}
	run, err := conversation.Resume(ctx, t)
	if err != nil {
		return "", err
	}
	if len(run.Rounds) == 0 {
		_, err := run.Begin(ctx, conversation.Message{
			Role:  conversation.Assistant,
			Calls: []conversation.Call{{ID: "call_" + t.RunID, Tool: r.Tool, Args: conversation.Arguments(string(r.Args))}},
		})
		if err != nil {
			return "", err
		}
	}
	first := run.Rounds[0]
	if err := run.Finish(ctx, first); err != nil {
		return "", err
	}
	return first.Results[0].Text, nil
}

// pause returns when the time is over or ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
