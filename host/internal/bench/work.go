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
	sequentialSends = 200                   // one after the other
	shortReply      = 20 * time.Millisecond // time of the agent in sequential sends
	concurrentSends = 1000                  // that wait at the same time
	longReply       = 3 * time.Second       // time of each agent in concurrent sends

	siblings = 5         // children of a parent: the maximum number of active children
	spawners = 8         // parents that spawn concurrently
	horizon  = time.Hour // of e2e.Drain
)

// runnerFunc is a function that implements runner.Runner.
type runnerFunc func(ctx context.Context) (text string, err error)

var _ runner.Runner = runnerFunc(nil)

func (fn runnerFunc) Run(ctx context.Context, _ *runner.Turn) (*runner.Outcome, error) {
	text, err := fn(ctx)
	return &runner.Outcome{Text: text}, err
}

// withHost runs fn with a host whose store has sessions with these keys.
func withHost(ctx context.Context, file string, keys []string, r runnerFunc, fn func(db *sqlite.DB, h *host.Host) error) error {
	sessions := make([]*abi.Session, len(keys))
	for i, key := range keys {
		sessions[i] = &abi.Session{Key: key, SessionID: key, UpdatedAt: 1}
	}
	if err := e2e.PutSessions(ctx, file, sessions...); err != nil {
		return err
	}
	return e2e.WithStore(ctx, file, func(db *sqlite.DB) error {
		h, err := host.New(ctx, wasm.Parley, &host.Options{
			Store: db, Runners: func(string) (runner.Runner, error) { return r, nil },
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

// measureSends measures sessions_send: its duration without the agent's own time, and the
// memory per waiting send.
func measureSends(ctx context.Context, dir string) error {
	latency := shortReply
	slow := func(ctx context.Context) (string, error) {
		begin := time.Now()
		err := e2e.Sleep(ctx, latency)
		return fmt.Sprint(time.Since(begin).Nanoseconds()), err
	}
	targets := keys("agent:main:subagent:%d", concurrentSends)
	return withHost(ctx, filepath.Join(dir, "sends.db"), append(targets, "agent:main:main"), slow, func(db *sqlite.DB, h *host.Host) error {
		w := table("sessions_send, without the agent's own time\tp50 ms\tp99 ms\t")
		over := make([]time.Duration, sequentialSends)
		for i := range over {
			var err error
			if over[i], err = send(ctx, h, targets[i]); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "%d one after the other\t%.1f\t%.1f\t\n", sequentialSends, percentile(over, 50), percentile(over, 99))

		latency = longReply
		before := memoryInUse()
		over = make([]time.Duration, concurrentSends)
		group, sending := errgroup.WithContext(ctx)
		for i := range over {
			group.Go(func() (err error) {
				over[i], err = send(sending, h, targets[i])
				return err
			})
		}
		during := make(chan float64, 1)
		time.AfterFunc(longReply*2/3, func() { during <- memoryInUse() }) // while all sends are waiting
		if err := group.Wait(); err != nil {
			return err
		}
		fmt.Fprintf(w, "%d concurrent, each to its own session\t%.1f\t%.1f\t\n", concurrentSends, percentile(over, 50), percentile(over, 99))
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Printf("memory per waiting send: %.1f KB\n", (<-during-before)/concurrentSends/1024)
		return e2e.Drain(ctx, db, horizon)
	})
}

// send sends one message and returns its duration without the agent's own time.
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
		return 0, fmt.Errorf("unexpected answer to a send: %s", a.Result)
	}
	return took - time.Duration(gjson.GetBytes(a.Result, "reply").Int()), nil
}

// memoryInUse returns the bytes of reachable objects and of stacks.
func memoryInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// measureSpawns measures sessions_spawn: the duration of a spawn, the memory of a child that
// is queued until a running one ends, and the rate of reports. It repeats the
// measurement with ten times as many children: the cost per child should be equal.
func measureSpawns(ctx context.Context, dir string) error {
	w := table("sessions_spawn, 8 children run concurrently\tspawn p50 ms\tp99 ms\tKB per queued child\treports per second\t")
	for _, n := range []int{40, 400} {
		start := make(chan struct{})
		blocked := func(ctx context.Context) (string, error) {
			select {
			case <-start:
				return "Result: done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		parents := keys("agent:main:parent-%d", n)
		err := withHost(ctx, filepath.Join(dir, fmt.Sprint("children-", n, ".db")), parents, blocked, func(_ *sqlite.DB, h *host.Host) error {
			return measureChildren(ctx, w, h, parents, start)
		})
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// measureChildren lets each parent spawn the maximum number of children, then unblocks the
// children and waits for all reports.
func measureChildren(ctx context.Context, w *tabwriter.Writer, h *host.Host, parents []string, start chan<- struct{}) error {
	// Concurrent spawns that are refused allocate the plugin instances before the
	// measurement.
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

// spawnAll lets every parent spawn its children. It returns the flows and the duration of
// each call.
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
					return fmt.Errorf("unexpected answer to a spawn: %s", a.Result)
				}
				flows[i] = a.FlowID
			}
			return nil
		})
	}
	return flows, took, group.Wait()
}
