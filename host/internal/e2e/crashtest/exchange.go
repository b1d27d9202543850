package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// exchange is one of a scenario, in a place of its own, with what was found about
// it.
type exchange struct {
	tally
	scenario *scenario
	place    *place
	outside  *outside
}

func (s *scenario) begin(ctx context.Context, name string, hangs bool) (*exchange, error) {
	e := &exchange{scenario: s, outside: newOutside(0)}
	e.place = &place{dir: filepath.Join(s.dir, name), sessions: s.sessions, attempts: s.attempts, hangs: hangs}
	if err := e.place.make(ctx, e.outside); err != nil {
		e.outside.server.Close()
		return nil, err
	}
	return e, nil
}

func (e *exchange) end() error {
	e.outside.server.Close()
	return errors.Join(e.sweep(), os.RemoveAll(e.place.dir))
}

// start starts a gateway that makes the call, or picks its answer up.
func (e *exchange) start(ctx context.Context, name string, o *order) (*process, error) {
	return e.place.start(ctx, name, e.scenario.call, o)
}

// count runs an exchange that nothing disturbs, and returns its points.
func (s *scenario) count(ctx context.Context) (points []string, err error) {
	e, err := s.begin(ctx, "count", false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.end()) }()
	c, err := e.start(ctx, "only", &order{})
	if err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	if err := e.verify(ctx, &standing{}, false); err != nil {
		return nil, err
	}
	if len(e.problems) > 0 {
		return nil, fmt.Errorf("an exchange that nothing disturbs: %q", e.problems)
	}
	return c.points()
}

// verify looks at how the exchange has ended. No process of it is there any more
// but those that the check is about.
func (e *exchange) verify(ctx context.Context, before *standing, unaware bool) error {
	if err := errors.Join(e.gone(ctx), e.strangers()); err != nil {
		return err
	}
	w, err := e.place.read(ctx)
	if err != nil {
		return err
	}
	e.final(w)
	if len(w.Flows) != 1 {
		e.fail("%d flows, want one", len(w.Flows))
	}
	for _, s := range w.stories(e.scenario.attempts) {
		e.tally.verify(e.scenario.call, s, e.outside)
	}
	e.nothingElse(e.outside)
	if before.between() {
		e.between++
	}
	for _, p := range before.judge(&e.tally, e.scenario.honours(), unaware) {
		e.fail("%s", p)
	}
	return nil
}

// atWork returns when the first agent of the exchange is: the model has been
// asked, or the command and all of its family are there.
func (e *exchange) atWork(ctx context.Context, c *process) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		pids, err := alive(e.place.left())
		asked, _ := e.outside.counts()
		if err != nil || asked > 0 || len(pids) == family {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	c.cancel()
	_, err := c.wait()
	return errors.Join(errors.New("its agent was never at work"), err)
}
