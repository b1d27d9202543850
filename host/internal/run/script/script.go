// Package script implements the runner that answers from a list, for tests, demos and
// conformance: the n-th run of a session gets the n-th reply, and all further runs
// get the last one.
//
// The runner keeps no counters. It counts the user messages in the session's
// transcript: each run that started has stored exactly one, however it ended. So a
// second attempt at a run gets the same reply as the first, and a restart changes
// nothing. The history that it reads is bounded, like every prompt, by messages and
// bytes; the bounds suffice for sessions whose runs this runner executed. In an
// imported session, or one that another runner served too, the runner counts only the
// user messages within the bounds.
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

// Options configures the replies.
type Options struct {
	Replies []Reply // at least one
}

// Reply is one scripted answer.
type Reply struct {
	// Text is the answer. {{message}} in it is replaced by the run's user message,
	// and {{result}} by the result of Tool.
	Text  string
	After time.Duration // delay before the answer
	Error string        // if set, the run fails with this text
	Tool  string        // a tool to call before the answer; empty: none
	Args  []byte        // JSON arguments of the tool; empty: {}
	Usage *abi.Usage    // reported usage of the turn's model; nil: no model is reported
}

// Runner answers from a list of replies.
type Runner struct {
	replies []Reply
}

var _ runner.Runner = (*Runner)(nil)

// New returns a runner.
func New(o *Options) (*Runner, error) {
	if o == nil || len(o.Replies) == 0 {
		return nil, errors.New("script: no replies; give at least one")
	}
	return &Runner{replies: append([]Reply(nil), o.Replies...)}, nil
}

// messagesPerRun is the maximum number of messages that a run of this runner stores:
// the user message, the tool call, its result, and the answer.
const messagesPerRun = 4

// maxHistoryBytes bounds the history that is counted.
const maxHistoryBytes = 64 << 20

// Run implements runner.Runner.
func (rn *Runner) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	n, err := rn.earlierRuns(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	reply := &rn.replies[min(n, len(rn.replies)-1)]
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

// earlierRuns returns the number of earlier runs, or at least the number of replies
// if there were more.
func (rn *Runner) earlierRuns(ctx context.Context, t *runner.Turn) (n int, err error) {
	if len(rn.replies) == 1 {
		return 0, nil
	}
	messages, err := t.Transcript.History(ctx, messagesPerRun*len(rn.replies), maxHistoryBytes)
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

// call calls the reply's tool, if there is one and the turn has tools, unless an
// earlier attempt has stored the result.
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

// pause waits for d, or until ctx ends.
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
