package main

import (
	"context"
	"errors"
	"fmt"
)

// tries is how often a point is looked for: what a process does at once has no
// order, and so no number for sure.
const tries = 3

// kill runs an exchange for each of the points, killed before and after it, and
// finished by another process.
func (s *scenario) kill(ctx context.Context, points []string, t *tally) error {
	want := 0
	for _, o := range s.orders(points) {
		if err := t.kill(ctx, s, o); err != nil {
			return fmt.Errorf("killed %s: %w", o, err)
		}
		want++
	}
	if s.agent == "cmd" {
		for _, waits := range []bool{false, true} {
			if err := t.killAtWork(ctx, s, waits); err != nil {
				return fmt.Errorf("killed while the command was at work: %w", err)
			}
			want++
		}
	}
	t.halted(s, len(points), "kills", t.kills, want)
	return nil
}

func (t *tally) kill(ctx context.Context, s *scenario, o *order) error {
	for range tries {
		e, err := s.begin(ctx, "kill", false)
		if err != nil {
			return err
		}
		c, err := e.start(ctx, "first", o)
		killed := false
		if err == nil {
			killed, err = c.wait()
		}
		if err == nil && killed {
			err = t.resume(ctx, e, "killed "+o.String())
		}
		if err = errors.Join(err, e.end()); err != nil || killed {
			return err
		}
	}
	t.fail("%s: no process came to be killed %s", s.name, o)
	return nil
}

// killAtWork kills a gateway whose command hangs. With waits, the next one begins
// when the command has ended by itself: a gateway that is dead lets nothing go on.
// Without, the next one must end the command.
func (t *tally) killAtWork(ctx context.Context, s *scenario, waits bool) error {
	e, err := s.begin(ctx, "working", true)
	if err != nil {
		return err
	}
	c, err := e.start(ctx, "first", &order{})
	if err == nil {
		err = e.atWork(ctx, c)
	}
	if err == nil {
		err = c.cmd.Process.Kill()
	}
	if err == nil {
		_, err = c.wait()
	}
	if err == nil && waits {
		err = e.gone(ctx)
	}
	if err == nil {
		err = t.resume(ctx, e, "killed at work")
	}
	return errors.Join(err, e.end())
}

// resume lets a second process finish what a killed one left, and verifies it. Its
// caller comes again with its call id, as one that lost its connection.
func (t *tally) resume(ctx context.Context, e *exchange, how string) error {
	e.tally.kills++
	defer t.merge(e, how)
	before, err := e.look(ctx)
	if err != nil {
		return err
	}
	c, err := e.start(ctx, "second", &order{})
	if err != nil {
		return err
	}
	if err := c.finish(); err != nil {
		return err
	}
	return e.verify(ctx, before, false)
}

// merge adds what was found about an exchange.
func (t *tally) merge(e *exchange, how string) {
	for i, p := range e.problems {
		e.problems[i] = fmt.Sprintf("%s, %s: %s", e.scenario.name, how, p)
	}
	t.add(&e.tally)
}
