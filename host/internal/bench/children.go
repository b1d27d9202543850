package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const (
	siblings = 5 // children of a parent, which is what one may have at work
	spawners = 8 // parents that spawn at once
)

// children measures sessions_spawn: what a spawn takes, what a child costs that is
// queued behind the few that run at once, and how long all take to report. Ten
// times as many cost no more each.
func children(ctx context.Context, dir string) error {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sessions_spawn, 8 children run at once\tspawn p50 ms\tp99 ms\tKB per queued child\treports per second\t")
	for _, parents := range []int{40, 400} {
		if err := brood(ctx, w, filepath.Join(dir, fmt.Sprint("children-", parents, ".db")), parents); err != nil {
			return err
		}
	}
	return w.Flush()
}

// heldAgent answers at once when it is let go.
type heldAgent struct{ let chan struct{} }

func (a *heldAgent) Run(ctx context.Context, _ *runner.Turn) (*runner.Outcome, error) {
	select {
	case <-a.let:
		return &runner.Outcome{Text: "Result: done"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// brood lets so many parents spawn all they may, and all their children report.
func brood(ctx context.Context, w *tabwriter.Writer, path string, parents int) (err error) {
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Load(ctx, func(b store.Batch) (err error) {
		for i := range parents {
			_, put := b.PutSession(&abi.Session{Key: parent(i), SessionID: parent(i), UpdatedAt: 1}, nil)
			err = errors.Join(err, put)
		}
		return err
	})
	if err != nil {
		return err
	}
	held := &heldAgent{let: make(chan struct{})}
	h, err := host.New(ctx, wasm.Parley, &host.Options{
		Store: db, Agents: func(string) (runner.Runner, error) { return held, nil },
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	if err := h.Start(ctx); err != nil {
		return err
	}
	if err := warm(ctx, h); err != nil {
		return err
	}
	before := live()
	flows, took, err := spawnAll(ctx, h, parents)
	if err != nil {
		return err
	}
	queued := (live() - before) / float64(len(flows))
	begin := time.Now()
	close(held.let)
	for _, id := range flows {
		f, err := h.WaitFlow(ctx, id)
		if err != nil {
			return err
		}
		if !f.Resting() {
			return fmt.Errorf("flow %s is %s: %s", id, f.Status, f.Standing())
		}
	}
	rate := float64(len(flows)) / time.Since(begin).Seconds()
	slices.Sort(took)
	fmt.Fprintf(w, "%d of %d parents\t%.1f\t%.1f\t%.1f\t%.0f\t\n", len(flows), parents, ms(took[len(took)/2]), ms(took[len(took)*99/100]), queued/1024, rate)
	return nil
}

// warm lets as many spawns be refused at once as follow, so that the memory of the
// sandboxes is there already.
func warm(ctx context.Context, h *host.Host) error {
	g, ctx := errgroup.WithContext(ctx)
	for range spawners {
		g.Go(func() error {
			_, err := h.Call(ctx, &host.Call{Tool: abi.ToolSpawn, Caller: abi.Caller{Operator: true}, Args: []byte(`{"task":"none","agentId":"nobody"}`)})
			return err
		})
	}
	return g.Wait()
}

func parent(i int) string { return fmt.Sprintf("agent:main:parent-%d", i) }

// spawnAll lets every parent spawn its children, and returns their flows.
func spawnAll(ctx context.Context, h *host.Host, parents int) (flows []string, took []time.Duration, err error) {
	flows, took = make([]string, parents*siblings), make([]time.Duration, parents*siblings)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(spawners)
	for p := range parents {
		g.Go(func() error {
			for i := p * siblings; i < (p+1)*siblings; i++ {
				begin := time.Now()
				a, err := h.Call(ctx, &host.Call{
					Tool: abi.ToolSpawn, Caller: abi.Caller{SessionKey: parent(p)}, Args: []byte(`{"task":"count the files"}`),
				})
				took[i] = time.Since(begin)
				if err != nil {
					return err
				}
				if gjson.GetBytes(a.Result, "status").Str != "accepted" {
					return fmt.Errorf("a spawn was answered %s", a.Result)
				}
				flows[i] = a.FlowID
			}
			return nil
		})
	}
	return flows, took, g.Wait()
}
