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

// Close releases the database. It first waits for the runs and due steps and serves other
// processes meanwhile, because an interrupted run uses up one of its attempts, and other
// processes may wait for it. Then, or as soon as ctx ends, it shuts down.
func (g *Gateway) Close(ctx context.Context) error {
	err := errors.Join(g.awaitWork(ctx), g.stopServing(ctx))
	ctx, cancel := withGrace(ctx)
	defer cancel()
	return errors.Join(err, g.withNotices(ctx, g.Host.Close), g.store.Close(), g.owner.Close())
}

// stepPause is the interval at which awaitWork checks whether the due steps have been
// executed.
const stepPause = 20 * time.Millisecond

// awaitWork waits until ctx ends, or until no run is queued or running and no step is due.
// A due step may start a run.
func (g *Gateway) awaitWork(ctx context.Context) error {
	if !g.working.Load() {
		return nil
	}
	notice := time.AfterFunc(NoticeDelay, func() {
		g.options.Note(fmt.Sprintf("waiting for %s; interrupt to leave it to the next owner", g.activeWork(ctx)))
	})
	defer notice.Stop()
	for ctx.Err() == nil {
		runs, err := g.Runs(ctx, &store.Filter{Statuses: []string{abi.RunQueued, abi.RunRunning}, Limit: 1})
		if err == nil && len(runs) > 0 {
			_, err = g.WaitRun(ctx, abi.Caller{Operator: true}, runs[0].ID, time.Hour)
		}
		pending := len(runs) > 0
		if err == nil && !pending {
			if pending, err = g.StepDue(ctx); pending {
				pause(ctx, stepPause)
			}
		}
		if ctx.Err() == nil && (err != nil || !pending) {
			return err
		}
	}
	return nil
}

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stopServing cancels the waiting requests of other processes, which then join the next
// owner. It waits for all other requests and for the active runs.
func (g *Gateway) stopServing(ctx context.Context) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- g.withNotices(ctx, g.Drain) }()
	g.owner.OnShutdown(g.front.Close)
	notice := time.AfterFunc(NoticeDelay, func() {
		g.options.Note("waiting for requests from other processes; interrupt to cancel them")
	})
	err := g.owner.Shutdown(ctx)
	notice.Stop()
	if interrupted(err) {
		g.options.Note("requests from other processes were cancelled")
		err = nil
	}
	return errors.Join(err, <-drained)
}

// withGrace returns ctx, or, if ctx has ended already, a context with a timeout of
// closeGrace.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
}

// withNotices calls end, which must end the work of agents and return when ctx ends. It
// notifies the user of the pending work if end takes long, and of interrupted work.
func (g *Gateway) withNotices(ctx context.Context, end func(context.Context) error) error {
	if !g.working.Load() {
		return end(ctx)
	}
	what := g.activeWork(ctx)
	notice := time.AfterFunc(NoticeDelay, func() {
		g.options.Note(fmt.Sprintf("waiting for %s; interrupt to leave it to the next owner", what))
	})
	err := end(ctx)
	notice.Stop()
	if interrupted(err) {
		g.options.Note(fmt.Sprintf("%s was interrupted; the next owner of the database, such as parley serve, resumes it", what))
		return nil
	}
	return err
}

// activeWork describes the running work of agents.
func (g *Gateway) activeWork(ctx context.Context) string {
	runs, err := g.Runs(context.WithoutCancel(ctx), &store.Filter{Statuses: []string{abi.RunRunning}})
	if err != nil || len(runs) == 0 {
		return "work in progress"
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

// interrupted reports whether err results from the end of a context.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
