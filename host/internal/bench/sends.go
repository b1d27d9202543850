package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
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
	sender     = "agent:main:main"
	waiting    = 1000                   // sends that wait at once
	thinking   = 3 * time.Second        // of each agent meanwhile
	alone      = 200                    // sends one after the other
	quick      = 20 * time.Millisecond  // of each agent then
	afterwards = 100 * time.Millisecond // between two looks at whether all flows have ended
)

// slowAgent answers after a time, and says how long it really took.
type slowAgent struct{ think time.Duration }

func (a *slowAgent) Run(ctx context.Context, _ *runner.Turn) (*runner.Outcome, error) {
	begin := time.Now()
	select {
	case <-time.After(a.think):
		return &runner.Outcome{Text: fmt.Sprint(time.Since(begin).Nanoseconds())}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sends measures sessions_send: what it takes beyond its agent's own time, and
// what a waiting one costs.
func sends(ctx context.Context, dir string) (err error) {
	db, err := sqlite.Open(ctx, filepath.Join(dir, "sends.db"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Load(ctx, func(b store.Batch) error {
		_, err := b.PutSession(&abi.Session{Key: sender, SessionID: "s", UpdatedAt: 1}, nil)
		for i := range waiting {
			_, put := b.PutSession(&abi.Session{Key: target(i), SessionID: target(i), UpdatedAt: 1}, nil)
			err = errors.Join(err, put)
		}
		return err
	})
	if err != nil {
		return err
	}
	slow := &slowAgent{}
	h, err := host.New(ctx, wasm.Parley, &host.Options{
		Store: db, Agents: func(string) (runner.Runner, error) { return slow, nil },
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	if err := h.Start(ctx); err != nil {
		return err
	}

	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sessions_send, beyond its agent's own time\tp50 ms\tp99 ms\t")
	slow.think = quick
	var over []time.Duration
	for i := range alone {
		d, err := send(ctx, h, i%waiting)
		if err != nil {
			return err
		}
		over = append(over, d)
	}
	row(w, fmt.Sprintf("%d one after the other", alone), over)

	slow.think = thinking
	before := live()
	over = make([]time.Duration, waiting)
	g, sending := errgroup.WithContext(ctx)
	for i := range waiting {
		g.Go(func() (err error) {
			over[i], err = send(sending, h, i)
			return err
		})
	}
	// Halfway, all are waiting.
	during := make(chan float64, 1)
	time.AfterFunc(thinking*2/3, func() { during <- live() })
	if err := g.Wait(); err != nil {
		return err
	}
	row(w, fmt.Sprintf("%d at once, in as many sessions", waiting), over)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("memory per waiting send: %.1f KB\n", (<-during-before)/waiting/1024)
	return drain(ctx, h)
}

func target(i int) string { return fmt.Sprintf("agent:main:subagent:%d", i) }

// send sends one message and returns by how much it took longer than its agent.
func send(ctx context.Context, h *host.Host, i int) (time.Duration, error) {
	begin := time.Now()
	a, err := h.Call(ctx, &host.Call{
		Tool: abi.ToolSend, Caller: abi.Caller{Operator: true},
		Args: fmt.Appendf(nil, `{"sessionKey":%q,"message":"hello","timeoutSeconds":120,"announce":"none"}`, target(i)),
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

func row(w *tabwriter.Writer, name string, d []time.Duration) {
	slices.Sort(d)
	fmt.Fprintf(w, "%s\t%.1f\t%.1f\t\n", name, ms(d[len(d)/2]), ms(d[len(d)*99/100]))
}

// live is the memory in use: what is reachable, and stacks.
func live() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// drain waits until every flow has ended.
func drain(ctx context.Context, h *host.Host) error {
	for {
		open, err := h.Flows(ctx, &store.Filter{Statuses: []string{store.FlowWaiting}, Limit: 1})
		if err != nil || len(open) == 0 {
			return err
		}
		select {
		case <-time.After(afterwards):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
