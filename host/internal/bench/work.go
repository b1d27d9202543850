package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const (
	waiting  = 1000                  // sends that wait at once
	thinking = 3 * time.Second       // of each agent meanwhile
	alone    = 200                   // sends one after the other
	quick    = 20 * time.Millisecond // of each agent then

	siblings = 5         // children of a parent, which is what one may have at work
	spawners = 8         // parents that spawn at once
	horizon  = time.Hour // of the work that drain waits for
)

// agent answers by a function.
type agent func(ctx context.Context) (text string, err error)

var _ runner.Runner = agent(nil)

func (a agent) Run(ctx context.Context, _ *runner.Turn) (*runner.Outcome, error) {
	text, err := a(ctx)
	return &runner.Outcome{Text: text}, err
}

// withHost runs fn with a host whose store has sessions with these keys.
func withHost(ctx context.Context, file string, keys []string, a agent, fn func(db *sqlite.DB, h *host.Host) error) error {
	sessions := make([]*abi.Session, len(keys))
	for i, key := range keys {
		sessions[i] = &abi.Session{Key: key, SessionID: key, UpdatedAt: 1}
	}
	if err := e2e.PutSessions(ctx, file, sessions...); err != nil {
		return err
	}
	return e2e.WithStore(ctx, file, func(db *sqlite.DB) error {
		h, err := host.New(ctx, wasm.Parley, &host.Options{
			Store: db, Runners: func(string) (runner.Runner, error) { return a, nil },
			Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		if err != nil {
			return err
		}
		if err = h.Start(ctx); err == nil {
			err = fn(db, h)
		}
		return errors.Join(err, h.Close(ctx))
	})
}

func keys(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

// measureSends measures sessions_send: how much longer it takes than its agent, and what
// a waiting one costs.
func measureSends(ctx context.Context, dir string) error {
	think := quick
	slow := func(ctx context.Context) (string, error) {
		begin := time.Now()
		err := e2e.Sleep(ctx, think)
		return fmt.Sprint(time.Since(begin).Nanoseconds()), err
	}
	targets := keys("agent:main:subagent:%d", waiting)
	return withHost(ctx, filepath.Join(dir, "sends.db"), append(targets, "agent:main:main"), slow, func(db *sqlite.DB, h *host.Host) error {
		w := table("sessions_send, beyond its agent's own time\tp50 ms\tp99 ms\t")
		over := make([]time.Duration, alone)
		for i := range over {
			var err error
			if over[i], err = send(ctx, h, targets[i]); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "%d one after the other\t%.1f\t%.1f\t\n", alone, percentile(over, 50), percentile(over, 99))

		think = thinking
		before := memoryInUse()
		over = make([]time.Duration, waiting)
		group, sending := errgroup.WithContext(ctx)
		for i := range over {
			group.Go(func() (err error) {
				over[i], err = send(sending, h, targets[i])
				return err
			})
		}
		during := make(chan float64, 1)
		time.AfterFunc(thinking*2/3, func() { during <- memoryInUse() }) // all are waiting
		if err := group.Wait(); err != nil {
			return err
		}
		fmt.Fprintf(w, "%d at once, in as many sessions\t%.1f\t%.1f\t\n", waiting, percentile(over, 50), percentile(over, 99))
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Printf("memory per waiting send: %.1f KB\n", (<-during-before)/waiting/1024)
		return e2e.Drain(ctx, db, horizon)
	})
}

// send sends one message and returns by how much it took longer than its agent.
func send(ctx context.Context, h *host.Host, target string) (time.Duration, error) {
	begin := time.Now()
	a, err := h.Call(ctx, &host.Call{
		Tool: abi.ToolSend, Caller: abi.Caller{Operator: true},
		Args: fmt.Appendf(nil, `{"sessionKey":%q,"message":"hello","timeoutSeconds":120,"announce":"none"}`, target),
	})
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	if s := gjson.GetBytes(a.Result, "status").Str; s != "ok" {
		return 0, fmt.Errorf("a send was answered %s", a.Result)
	}
	return took - time.Duration(gjson.GetBytes(a.Result, "reply").Int()), nil
}

// memoryInUse returns the bytes that are reachable, and stacks.
func memoryInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// measureSpawns measures sessions_spawn: what a spawn takes, what a child costs that is
// queued behind the few that run at once, and how long all take to report. With ten times
// as many children, each costs the same.
func measureSpawns(ctx context.Context, dir string) error {
	w := table("sessions_spawn, 8 children run at once\tspawn p50 ms\tp99 ms\tKB per queued child\treports per second\t")
	for _, n := range []int{40, 400} {
		start := make(chan struct{})
		held := func(ctx context.Context) (string, error) {
			select {
			case <-start:
				return "Result: done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		parents := keys("agent:main:parent-%d", n)
		err := withHost(ctx, filepath.Join(dir, fmt.Sprint("children-", n, ".db")), parents, held, func(_ *sqlite.DB, h *host.Host) error {
			return measureChildren(ctx, w, h, parents, start)
		})
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// measureChildren lets the parents spawn as many children as they may, then starts the
// children, which all report.
func measureChildren(ctx context.Context, w *tabwriter.Writer, h *host.Host, parents []string, start chan<- struct{}) error {
	// As many refused spawns at once make the memory of all sandboxes exist already.
	refused, refusing := errgroup.WithContext(ctx)
	for range spawners {
		refused.Go(func() error {
			_, err := h.Call(refusing, &host.Call{Tool: abi.ToolSpawn, Caller: abi.Caller{Operator: true}, Args: []byte(`{"task":"none","agentId":"nobody"}`)})
			return err
		})
	}
	if err := refused.Wait(); err != nil {
		return err
	}
	before := memoryInUse()
	flows, took, err := spawnAll(ctx, h, parents)
	if err != nil {
		return err
	}
	queued := (memoryInUse() - before) / float64(len(flows))
	begin := time.Now()
	close(start)
	for _, id := range flows {
		f, err := h.WaitFlow(ctx, id)
		if err != nil {
			return err
		}
		if !f.Idle() {
			return fmt.Errorf("flow %s is %s: %s", id, f.Status, f.StatusText())
		}
	}
	rate := float64(len(flows)) / time.Since(begin).Seconds()
	fmt.Fprintf(w, "%d of %d parents\t%.1f\t%.1f\t%.1f\t%.0f\t\n", len(flows), len(parents), percentile(took, 50), percentile(took, 99), queued/1024, rate)
	return nil
}

// spawnAll lets every parent spawn its children, and returns their flows and how long each
// call took.
func spawnAll(ctx context.Context, h *host.Host, parents []string) (flows []string, took []time.Duration, err error) {
	flows, took = make([]string, len(parents)*siblings), make([]time.Duration, len(parents)*siblings)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(spawners)
	for p, parent := range parents {
		group.Go(func() error {
			for i := p * siblings; i < (p+1)*siblings; i++ {
				begin := time.Now()
				a, err := h.Call(ctx, &host.Call{Tool: abi.ToolSpawn, Caller: abi.Caller{SessionKey: parent}, Args: []byte(`{"task":"count the files"}`)})
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
	return flows, took, group.Wait()
}
