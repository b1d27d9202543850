package main

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

// kill runs two trials for each point. The first process is killed before or after the
// point; a second process completes the work.
func (s *scenario) kill(ctx context.Context, points []string, r *e2e.Report) (want int, err error) {
	for _, h := range s.halts(points) {
		want++
		err := s.retry(ctx, r, "kill", "killed "+h.String(), false, func(t *trial) (bool, error) {
			first, err := t.start(ctx, "first", *h)
			if err != nil {
				return false, err
			}
			killed, err := first.Wait()
			if err != nil || !killed {
				return false, err
			}
			return true, t.recover(ctx)
		})
		if err != nil {
			return want, err
		}
	}
	if s.agent != "cmd" {
		return want, nil
	}
	for _, wait := range []bool{false, true} {
		want++
		err := s.retry(ctx, r, "running", "killed while the command was running", true, func(t *trial) (bool, error) {
			return true, t.killDuringCommand(ctx, wait)
		})
		if err != nil {
			return want, err
		}
	}
	return want, nil
}

// killDuringCommand kills a gateway whose command hangs. With wait, the next gateway starts
// only after the command's supervisor has ended the command. Without wait, the next gateway
// must end the command.
func (t *trial) killDuringCommand(ctx context.Context, wait bool) error {
	first, err := t.start(ctx, "first", halt{})
	if err != nil {
		return err
	}
	if err := errors.Join(t.waitForAgent(ctx, first), first.Kill()); err != nil {
		return err
	}
	if wait {
		if err := t.waitForAgentExit(ctx); err != nil {
			return err
		}
	}
	return t.recover(ctx)
}

// recover runs a second process that completes the work of a killed one, and verifies the
// result. The second process repeats the call with the same id, like a client that lost its
// connection.
func (t *trial) recover(ctx context.Context) error {
	t.Count(countKills, 1)
	before, err := t.state(ctx)
	if err != nil {
		return err
	}
	if err := t.finish(ctx, "second"); err != nil {
		return err
	}
	return t.verify(ctx, before, false)
}
