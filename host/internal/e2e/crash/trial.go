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

// trial is one execution of a scenario in a separate workspace, with its report.
type trial struct {
	*e2e.Report
	*workspace
	scenario *scenario
	call     call
	peers    *e2e.Peers
}

// try runs fn with a new trial. With hangs, the first command of its agent never ends.
func (s *scenario) try(ctx context.Context, name string, hangs bool, fn func(t *trial) error) error {
	peers := e2e.NewPeers(reply)
	peers.Start()
	defer peers.Close()
	call, sessions := s.call()
	w := &workspace{dir: filepath.Join(s.dir, name), sessions: sessions, attempts: s.attempts(), hangs: hangs}
	if err := w.create(ctx, peers); err != nil {
		return err
	}
	t := &trial{&e2e.Report{}, w, s, call, peers}
	return errors.Join(fn(t), t.killAgents(), os.RemoveAll(w.dir))
}

// maxTries is the maximum number of trials for one point: the concurrent actions of a
// process have no fixed order, so a point does not always have the same number.
const maxTries = 3

// retry runs trials until fn reports that the process was halted, and adds the report of
// the last one.
func (s *scenario) retry(ctx context.Context, r *e2e.Report, name, how string, hangs bool, fn func(t *trial) (bool, error)) error {
	for range maxTries {
		halted := false
		err := s.try(ctx, name, hangs, func(t *trial) (err error) {
			if halted, err = fn(t); halted {
				r.Add(how, t.Report)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", how, err)
		}
		if halted {
			return nil
		}
	}
	r.Fail("%s: no process reached this point", how)
	return nil
}

// processLimit is the time limit of a process. A process that is stopped past its lease
// takes longest.
const processLimit = time.Minute

// start starts a gateway process that makes the call or, if an earlier process has made it,
// receives its answer.
func (t *trial) start(ctx context.Context, name string, h halt) (*e2e.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(&job{Dir: t.dir, Trace: name, Call: t.call.request(), Halt: h})
	if err != nil {
		return nil, err
	}
	return e2e.StartProcess(ctx, name, processLimit, self, roleGateway, string(text))
}

// finish runs a process that completes all remaining work.
func (t *trial) finish(ctx context.Context, name string) error {
	p, err := t.start(ctx, name, halt{})
	if err != nil {
		return err
	}
	return p.Finish()
}

// points runs a trial without faults and returns the kinds of its points, in order.
func (s *scenario) points(ctx context.Context) (points []string, err error) {
	err = s.try(ctx, "count", false, func(t *trial) error {
		if err := t.finish(ctx, "only"); err != nil {
			return err
		}
		if err := t.verify(ctx, &state{}, false); err != nil {
			return err
		}
		if p := t.Problems(); len(p) > 0 {
			return fmt.Errorf("trial without faults: %q", p)
		}
		text, err := os.ReadFile(t.trace("only"))
		points = strings.Fields(string(text))
		return err
	})
	return points, err
}

// verify checks the result of the trial. before is the state when the process was halted;
// state.check describes unaware.
func (t *trial) verify(ctx context.Context, before *state, unaware bool) error {
	if err := errors.Join(t.waitForAgentExit(ctx), t.checkOverlap()); err != nil {
		return err
	}
	rows, err := e2e.ReadRows(ctx, t.database())
	if err != nil {
		return err
	}
	rows.CheckEnded(t.Report)
	rows.CheckSpawned(t.Report)
	if len(rows.Flows) != 1 {
		t.Fail("%d flows, want one", len(rows.Flows))
	}
	for _, s := range rows.ByFlow() {
		v := &verification{t.Report, s, t.peers, t.attempts}
		v.check(t.call)
	}
	t.peers.CheckUnexpected(t.Report)
	if before.unrecorded() {
		t.Count(countBetween, 1)
	}
	before.check(t.Report, e2e.DropsRepeats(t.scenario.channel), unaware)
	return nil
}

// waitForAgent blocks until the first agent of the trial is running: the model has received
// a request, or the command and all its descendants have started.
func (t *trial) waitForAgent(ctx context.Context, p *e2e.Process) error {
	for deadline := time.Now().Add(agentLimit); time.Now().Before(deadline); {
		pids, err := alive(t.agents())
		requests, _ := t.peers.Counts()
		if err != nil || requests > 0 || len(pids) == hangingProcesses {
			return err
		}
		if err := e2e.Pause(ctx); err != nil {
			return err
		}
	}
	return errors.Join(errors.New("no agent was running in time"), p.Kill())
}
