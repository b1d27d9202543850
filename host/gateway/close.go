package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Close gives up the database. Runs that this process has let begin may take their
// time, and others are served meanwhile: a run that is cut off has used up one of
// its attempts, and it may be anybody's. Then it retires; when ctx has ended,
// at once.
func (g *Gateway) Close(ctx context.Context) error {
	err := errors.Join(g.finish(ctx), g.retire(ctx))
	ctx, cancel := withGrace(ctx)
	defer cancel()
	return errors.Join(err, g.end(ctx, g.Host.Close), g.store.Close(), g.owner.Close())
}

// stepPause is how often an owner that ends looks whether a step has been run that
// is due, and which may start a run.
const stepPause = 20 * time.Millisecond

// finish waits until there is nothing more to do for agents, or ctx ends: neither
// runs nor steps that may start some.
func (g *Gateway) finish(ctx context.Context) error {
	if !g.working.Load() {
		return nil
	}
	notice := time.AfterFunc(Notice, func() {
		g.options.Note(fmt.Sprintf("waiting for %s; interrupt to leave it to the next owner", g.underWay(ctx)))
	})
	defer notice.Stop()
	for ctx.Err() == nil {
		runs, err := g.Runs(ctx, &store.Filter{Statuses: []string{abi.RunQueued, abi.RunRunning}, Limit: 1})
		if err == nil && len(runs) > 0 {
			_, err = g.WaitRun(ctx, abi.Caller{Operator: true}, runs[0].ID, time.Hour)
		}
		going := len(runs) > 0
		if err == nil && !going {
			if going, err = g.StepDue(ctx); going {
				pause(ctx, stepPause)
			}
		}
		if ctx.Err() == nil && (err != nil || !going) {
			return err
		}
	}
	return nil
}

// pause returns after a time, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// retire sends other processes that wait for something to the next owner, and
// lets every other request of theirs and the agents at work end.
func (g *Gateway) retire(ctx context.Context) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- g.end(ctx, g.Drain) }()
	g.owner.OnShutdown(g.front.Close)
	notice := time.AfterFunc(Notice, func() {
		g.options.Note("waiting for the requests of other processes; interrupt to cut them off")
	})
	err := g.owner.Shutdown(ctx)
	notice.Stop()
	if ended(err) {
		g.options.Note("requests of other processes were cut off")
		err = nil
	}
	return errors.Join(err, <-drained)
}

// withGrace returns ctx, or, when it has ended already, one for what is left to do.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
}

// end lets work end, until ctx does, and tells what it waits for.
func (g *Gateway) end(ctx context.Context, work func(context.Context) error) error {
	if !g.working.Load() {
		return work(ctx)
	}
	what := g.underWay(ctx)
	notice := time.AfterFunc(Notice, func() {
		g.options.Note(fmt.Sprintf("waiting for %s; interrupt to leave it to the next owner", what))
	})
	err := work(ctx)
	notice.Stop()
	if ended(err) {
		g.options.Note(fmt.Sprintf("%s was cut off; the next owner of the database goes on with it, such as parley serve", what))
		return nil
	}
	return err
}

// underWay names what agents are doing.
func (g *Gateway) underWay(ctx context.Context) string {
	runs, err := g.Runs(context.WithoutCancel(ctx), &store.Filter{Statuses: []string{abi.RunRunning}})
	if err != nil || len(runs) == 0 {
		return "what is under way"
	}
	var sessions []string
	for _, r := range runs {
		if !slices.Contains(sessions, r.SessionKey) {
			sessions = append(sessions, r.SessionKey)
		}
	}
	const most = 3
	if len(sessions) > most {
		return fmt.Sprintf("the work of agents in %d sessions", len(sessions))
	}
	return "the work of agents in " + strings.Join(sessions, ", ")
}

// ended reports whether something was cut off by the end of its context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
