package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/host/store/sqlite"
)

// scenario is exchanges of one kind.
type scenario struct {
	dir, receiver, agent string
	onlyPosts            bool // other points are those of another scenario
}

// honours reports whether the scenario's receiver drops what it has seen.
func (s *scenario) honours() bool { return s.receiver == "webhook" || s.receiver == "discord" }

// exchange is one, in a place of its own, with what was found about it.
type exchange struct {
	tally
	scenario *scenario
	place    *place
	outside  *outside
}

func (s *scenario) begin(ctx context.Context, name string, hangs bool) (*exchange, error) {
	e := &exchange{scenario: s, outside: newOutside(0)}
	e.place = &place{dir: filepath.Join(s.dir, name), receiver: s.receiver, agent: s.agent, hangs: hangs}
	if err := e.place.make(ctx, e.outside, 1, 2); err != nil {
		e.outside.server.Close()
		return nil, err
	}
	return e, nil
}

func (e *exchange) end() error {
	e.outside.server.Close()
	return errors.Join(e.sweep(), os.RemoveAll(e.place.dir))
}

// count runs an exchange that nothing disturbs, and returns its points.
func (s *scenario) count(ctx context.Context) (points []string, err error) {
	e, err := s.begin(ctx, "count", false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.end()) }()
	c, err := e.place.start(ctx, "only", &order{})
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
		return nil, fmt.Errorf("an exchange that nothing disturbs: %v", e.problems)
	}
	return c.points()
}

// verify looks at how the exchange has ended. No process of it is there any more
// but those that the check is about.
func (e *exchange) verify(ctx context.Context, before *standing, unaware bool) error {
	if err := errors.Join(e.gone(ctx), e.strangers()); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, e.place.database(), nil)
	if err != nil {
		return err
	}
	w, err := everything(ctx, db)
	if err == nil {
		e.final(w)
		if len(w.Flows) != 1 {
			e.fail("%d flows, want one", len(w.Flows))
		}
		for _, f := range w.Flows {
			err = errors.Join(err, e.verifyFlow(ctx, db, f, e.outside, e.place.receiver, "#x#", 2))
		}
	}
	if before.between() {
		e.between++
	}
	for _, p := range before.judge(&e.tally, e.scenario.honours(), unaware) {
		e.fail("%s", p)
	}
	return errors.Join(err, db.Close())
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
