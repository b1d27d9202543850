package host_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// actor is the agent of every session: it does what the vector says.
type actor struct{ b *bubble }

func (a actor) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	a.b.mu.Lock()
	turn, err := a.b.cast.Turn(t.SessionKey, t.RunID)
	a.b.mu.Unlock()
	if err != nil {
		a.b.fail(err.Error())
		return nil, err
	}
	for i := range turn.Calls {
		if err := a.call(ctx, t, &turn.Calls[i]); err != nil {
			return nil, err
		}
	}
	over := time.After(time.Duration(turn.TakesMs) * time.Millisecond)
	if turn.Status == abi.RunTimeout {
		over = nil
	}
	select {
	case <-over:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if message := turn.ToolResultMessage(a.b.now().UnixMilli()); message != nil {
		if err := t.Transcript.Append(ctx, message); err != nil {
			return nil, err
		}
	}
	switch turn.Status {
	case abi.RunFailed:
		return nil, errors.New(turn.Error)
	case abi.RunKilled:
		return nil, errors.Join(a.b.abort(t.RunID), errors.New("aborted"))
	}
	return &runner.Outcome{Text: turn.Reply, Model: turn.Model, Usage: turn.Usage}, nil
}

func (a actor) call(ctx context.Context, t *runner.Turn, c *vector.AgentCall) error {
	if t.Tools == nil {
		err := abi.NewError(abi.Forbidden, fmt.Sprintf("the agent of %s is to call %s, but has no tools", t.SessionKey, c.Tool))
		if c.Expect == nil {
			a.b.fail(err.Error())
			return err
		}
		a.b.fail(c.Check(vector.Answer{Err: err})...)
		return nil
	}
	got, err := t.Tools.Call(ctx, c.Tool, c.Args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer := vector.Answer{Err: err}
	if err == nil {
		answer.Result, answer.Code = got.Result, got.Code
	}
	a.b.fail(c.Check(answer)...)
	return nil
}

// abort marks a run as aborted by the operator, and has its host look at it.
func (b *bubble) abort(runID string) error {
	return b.store.Update(b.ctx, func(tx store.Tx) error {
		r, err := tx.Run(runID)
		if err != nil || r.Ended() {
			return err
		}
		r.Abort = vector.Killed
		return errors.Join(tx.PutRun(r), tx.Schedule(store.KindRun, runID, b.now().UnixMilli()))
	})
}

// taker is a sink that takes everything.
type taker struct{}

var _ sink.Sink = taker{}

func (taker) Post(context.Context, *sink.Message) error { return nil }
