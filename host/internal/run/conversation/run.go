package conversation

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
)

// Run holds the rounds of tool calls of a run. It belongs to one attempt.
type Run struct {
	Rounds []*Round // of all attempts, oldest first; all but the last are finished

	turn *runner.Turn
	// asked counts, by key, the calls of earlier attempts that have results. The host
	// numbers equal calls of an attempt, so this attempt must repeat these calls
	// before its own calls get the next number.
	asked map[string]int
}

// Resume returns the run with the rounds that earlier attempts have stored.
func Resume(ctx context.Context, t *runner.Turn) (*Run, error) {
	messages, err := t.Transcript.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the run's messages: %w", err)
	}
	run := &Run{turn: t, asked: make(map[string]int)}
	for _, r := range Rounds(messages) {
		if len(r.Calls) == 0 {
			continue
		}
		run.Rounds = append(run.Rounds, r)
		for i, result := range r.Results {
			if result != nil {
				run.asked[r.Calls[i].key()]++
			}
		}
	}
	return run, nil
}

// Begin appends a message with tool calls to the transcript.
func (run *Run) Begin(ctx context.Context, m Message) (*Round, error) {
	if err := run.turn.Transcript.Append(ctx, m.JSON()); err != nil {
		return nil, fmt.Errorf("append the tool calls: %w", err)
	}
	r := newRound(m)
	run.Rounds = append(run.Rounds, r)
	return r, nil
}

// Finish executes the calls of a round that have no result yet, one after the other
// and in order, and appends each result immediately. A tool's failure is
// stored as the tool's result; any other error is returned and ends the run.
func (run *Run) Finish(ctx context.Context, r *Round) error {
	for i := range r.Calls {
		if r.Results[i] != nil {
			continue
		}
		c := &r.Calls[i]
		for key := c.key(); run.asked[key] > 0; run.asked[key]-- {
			if _, err := run.execute(ctx, c); err != nil {
				return err
			}
		}
		result, err := run.execute(ctx, c)
		if err != nil {
			return err
		}
		if err := run.turn.Transcript.Append(ctx, result.JSON()); err != nil {
			return fmt.Errorf("append the result of %s: %w", result.Tool, err)
		}
		r.Results[i] = result
	}
	return nil
}

func (run *Run) execute(ctx context.Context, c *Call) (*Message, error) {
	m := &Message{Role: ToolResult, CallID: c.ID, Tool: c.Tool}
	if run.turn.Tools == nil {
		return m.fail("this run has no tools"), nil
	}
	if err := c.check(); err != nil {
		return m.fail(err.Error()), nil
	}
	answer, err := run.turn.Tools.Call(ctx, c.Tool, c.Args)
	var refused *abi.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refused) && refused.Code != abi.Internal:
		return m.fail(refused.Error()), nil
	case err != nil:
		return nil, fmt.Errorf("call %s: %w", c.Tool, err)
	}
	m.Text, m.Failed = string(answer.Result), answer.Code != ""
	return m, nil
}

// fail makes m the result of a failed call, in the form that tools use (S0.1).
func (m *Message) fail(text string) *Message {
	m.Failed = true
	m.Text = string(encode(struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}{"error", text}))
	return m
}
