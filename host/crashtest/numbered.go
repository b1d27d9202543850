package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// tries is how often a point is looked for: what a process does at once has no
// order, and so no number for sure.
const tries = 3

// kills runs an exchange for each of the points, killed before and after it, and
// finished by another process.
func (s *scenario) kills(ctx context.Context, points []string, t *tally) error {
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
	if t.kills != want {
		t.fail("%d kills, want %d", t.kills, want)
	}
	t.ofInterest(s)
	fmt.Printf("%-8s %-8s %3d points, %3d kills, %d second attempts, %d posted again, %d seen twice, %d problems\n",
		s.receiver, s.agent, len(points), t.kills, t.attempts, t.reposts, t.repeats, len(t.problems))
	return nil
}

// orders returns where the processes of a scenario halt: before and after each
// point.
func (s *scenario) orders(points []string) (all []*order) {
	for i, what := range points {
		if s.onlyPosts && what != pointPost {
			continue
		}
		for _, after := range []bool{false, true} {
			all = append(all, &order{at: strconv.Itoa(i + 1), after: after})
		}
	}
	return all
}

// ofInterest fails when nothing was disturbed between a post and its record. Each
// scenario halts after the post, and most before its record too.
func (t *tally) ofInterest(s *scenario) {
	want := 2
	if s.onlyPosts {
		want = 1
	}
	if t.between < want {
		t.fail("%s, %s: %d processes were halted between the post and its record, want %d", s.receiver, s.agent, t.between, want)
	}
}

func (t *tally) kill(ctx context.Context, s *scenario, o *order) error {
	for range tries {
		e, err := s.begin(ctx, "kill", false)
		if err != nil {
			return err
		}
		c, err := e.place.start(ctx, "first", o)
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
	t.fail("%s, %s: no process came to be killed %s", s.receiver, s.agent, o)
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
	c, err := e.place.start(ctx, "first", &order{})
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
	c, err := e.place.start(ctx, "second", &order{})
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
		e.problems[i] = fmt.Sprintf("%s, %s, %s: %s", e.scenario.receiver, e.scenario.agent, how, p)
	}
	t.add(&e.tally)
}
