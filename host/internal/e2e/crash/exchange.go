package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

// exchange is one exchange of a scenario, in a workspace of its own, with what was found
// about it.
type exchange struct {
	*e2e.Report
	*workspace
	scenario *scenario
	call     call
	peers    *e2e.Peers
}

// with runs fn with a new exchange. hangs makes its first command never end.
func (s *scenario) with(ctx context.Context, name string, hangs bool, fn func(e *exchange) error) error {
	peers := e2e.NewPeers(answer)
	peers.Start()
	defer peers.Close()
	call, sessions := s.call()
	w := &workspace{dir: filepath.Join(s.dir, name), sessions: sessions, attempts: s.attempts(), hangs: hangs}
	if err := w.create(ctx, peers); err != nil {
		return err
	}
	e := &exchange{&e2e.Report{}, w, s, call, peers}
	return errors.Join(fn(e), e.killAgents(), os.RemoveAll(w.dir))
}

// tries is how often a point is looked for: what a process does concurrently has no fixed
// order, and so no fixed number.
const tries = 3

// disturb runs an exchange until it was disturbed, which fn reports, and adds what was found.
func (s *scenario) disturb(ctx context.Context, r *e2e.Report, name, how string, hangs bool, fn func(e *exchange) (bool, error)) error {
	for range tries {
		disturbed := false
		err := s.with(ctx, name, hangs, func(e *exchange) (err error) {
			if disturbed, err = fn(e); disturbed {
				r.Add(how, e.Report)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", how, err)
		}
		if disturbed {
			return nil
		}
	}
	r.Fail("%s: no process reached this point", how)
	return nil
}

// processLimit is how long a process may take. The longest is stopped past its lease.
const processLimit = time.Minute

// start starts a gateway process that makes the call, or picks its answer up.
func (e *exchange) start(ctx context.Context, name string, h halt) (*e2e.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(&job{Dir: e.dir, Trace: name, Call: e.call.request(), Halt: h})
	if err != nil {
		return nil, err
	}
	return e2e.StartProcess(ctx, name, processLimit, self, roleGateway, string(text))
}

// finish lets a process do everything that is left.
func (e *exchange) finish(ctx context.Context, name string) error {
	p, err := e.start(ctx, name, halt{})
	if err != nil {
		return err
	}
	return p.Finish()
}

// points runs an undisturbed exchange and returns its points.
func (s *scenario) points(ctx context.Context) (points []string, err error) {
	err = s.with(ctx, "count", false, func(e *exchange) error {
		if err := e.finish(ctx, "only"); err != nil {
			return err
		}
		if err := e.verify(ctx, &state{}, false); err != nil {
			return err
		}
		if p := e.Problems(); len(p) > 0 {
			return fmt.Errorf("an undisturbed exchange: %q", p)
		}
		text, err := os.ReadFile(e.trace("only"))
		points = strings.Fields(string(text))
		return err
	})
	return points, err
}

// verify checks how the exchange has ended. Only processes of agents, which it looks for,
// can be left of it.
func (e *exchange) verify(ctx context.Context, before *state, unaware bool) error {
	if err := errors.Join(e.agentsGone(ctx), e.agentsNeverMet()); err != nil {
		return err
	}
	rows, err := e2e.ReadRows(ctx, e.database())
	if err != nil {
		return err
	}
	rows.FailUnended(e.Report)
	rows.FailUnspawned(e.Report)
	if len(rows.Flows) != 1 {
		e.Fail("%d flows, want one", len(rows.Flows))
	}
	for _, s := range rows.Stories() {
		v := &verification{e.Report, s, e.peers, e.attempts}
		v.check(e.call)
	}
	e.peers.FailUnexpected(e.Report)
	if before.between() {
		e.Count(countBetween, 1)
	}
	before.judge(e.Report, e2e.DropsRepeats(e.scenario.channel), unaware)
	return nil
}

// agentAtWork returns when the first agent of the exchange is at work: the model has been
// asked, or the command and all its descendants are there.
func (e *exchange) agentAtWork(ctx context.Context, p *e2e.Process) error {
	for deadline := time.Now().Add(agentLimit); time.Now().Before(deadline); {
		pids, err := alive(e.agents())
		asked, _ := e.peers.Counts()
		if err != nil || asked > 0 || len(pids) == hangingProcesses {
			return err
		}
		if err := e2e.Pause(ctx); err != nil {
			return err
		}
	}
	return errors.Join(errors.New("its agent was never at work"), p.Kill())
}
