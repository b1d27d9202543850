package main

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

// kill runs an exchange for each of the points, whose process is killed before and after
// it, and which another process finishes.
func (s *scenario) kill(ctx context.Context, points []string, r *e2e.Report) (want int, err error) {
	for _, h := range s.halts(points) {
		want++
		err := s.disturb(ctx, r, "kill", "killed "+h.String(), false, func(e *exchange) (bool, error) {
			first, err := e.start(ctx, "first", *h)
			if err != nil {
				return false, err
			}
			killed, err := first.Wait()
			if err != nil || !killed {
				return false, err
			}
			return true, e.recover(ctx)
		})
		if err != nil {
			return want, err
		}
	}
	if s.agent != "cmd" {
		return want, nil
	}
	for _, waits := range []bool{false, true} {
		want++
		err := s.disturb(ctx, r, "working", "killed while the command was at work", true, func(e *exchange) (bool, error) {
			return true, e.killAtWork(ctx, waits)
		})
		if err != nil {
			return want, err
		}
	}
	return want, nil
}

// killAtWork kills a gateway whose command hangs. With waits, the next one begins when the
// command has ended by itself: a command does not outlive its gateway. Without, the next
// gateway must end the command.
func (e *exchange) killAtWork(ctx context.Context, waits bool) error {
	first, err := e.start(ctx, "first", halt{})
	if err != nil {
		return err
	}
	if err := errors.Join(e.agentAtWork(ctx, first), first.Kill()); err != nil {
		return err
	}
	if waits {
		if err := e.agentsGone(ctx); err != nil {
			return err
		}
	}
	return e.recover(ctx)
}

// recover lets a second process finish what a killed one left, and verifies it. The caller
// comes again with its call id, like a client that lost its connection.
func (e *exchange) recover(ctx context.Context) error {
	e.Count(countKills, 1)
	before, err := e.state(ctx)
	if err != nil {
		return err
	}
	if err := e.finish(ctx, "second"); err != nil {
		return err
	}
	return e.verify(ctx, before, false)
}
