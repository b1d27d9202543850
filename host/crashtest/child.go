package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/delivery"
	"github.com/parley-wasm/parley/host/run/agent"
	"github.com/parley-wasm/parley/host/runners"
	"github.com/parley-wasm/parley/host/sinks"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// points numbers the commits and outside effects of a process, and kills it
// before or after one of them.
type points struct {
	passed atomic.Int64
	kill   int64 // 0: none
	after  bool
	trace  io.Writer
}

func (p *points) pass(what string, do func() error) error {
	n := p.passed.Add(1)
	fmt.Fprintf(p.trace, "%d %s\n", n, what)
	if n == p.kill && !p.after {
		die()
	}
	err := do()
	if n == p.kill && p.after {
		die()
	}
	return err
}

// die ends the process as nothing can prevent.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// countedStore numbers the commits.
type countedStore struct {
	store.Durable
	points *points
}

func (s *countedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.points.pass("commit", func() error { return s.Durable.Update(ctx, fn) })
}

// countedSink numbers the posts, countedAgent the executions.
type countedSink struct {
	delivery.Sink
	points *points
}

func (s *countedSink) Post(ctx context.Context, m *delivery.Message) error {
	return s.points.pass("post", func() error { return s.Sink.Post(ctx, m) })
}

type countedAgent struct {
	agent.Agent
	points *points
}

func (a *countedAgent) Run(ctx context.Context, t *agent.Turn) (o *agent.Outcome, err error) {
	err = a.points.pass("agent", func() (err error) {
		o, err = a.Agent.Run(ctx, t)
		return err
	})
	return o, err
}

// Reap passes on to an agent that leaves something behind.
func (a *countedAgent) Reap(ctx context.Context, left json.RawMessage) error {
	if r, ok := a.Agent.(agent.Reaper); ok {
		return r.Reap(ctx, left)
	}
	return nil
}

// child is a gateway that makes one call, or picks its answer up, and ends when
// everything that follows has.
func child(ctx context.Context, args []string) error {
	p, pts := &place{}, &points{}
	flags := flag.NewFlagSet("child", flag.ExitOnError)
	flags.StringVar(&p.dir, "dir", "", "")
	flags.StringVar(&p.agent, "agent", "ops", "")
	flags.Int64Var(&pts.kill, "kill", 0, "")
	flags.BoolVar(&pts.after, "after", false, "")
	_ = flags.Parse(args) // exits by itself
	trace, err := os.Create(filepath.Join(p.dir, "trace"))
	if err != nil {
		return err
	}
	defer trace.Close()
	pts.trace = trace

	settings, err := config.Load(p.config())
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	agents := runners.New(settings, &runners.Options{Supervisor: []string{self, "runner-exec"}})
	post := sinks.New(settings, &sinks.Options{Logger: log})
	h, err := host.New(ctx, wasm.Parley, &host.Options{
		Store: &countedStore{db, pts}, Config: settings, CacheDir: p.cache(), Logger: log,
		Agents: func(id string) (agent.Agent, error) {
			a, err := agents.Agent(id)
			return &countedAgent{a, pts}, err
		},
		Sinks: func(channel string) (delivery.Sink, error) {
			s, err := post.Sink(channel)
			return &countedSink{s, pts}, err
		},
		URL: func() string { return "http://127.0.0.1:9" }, // no agent here uses it; with it comes a token
	})
	if err != nil {
		return err
	}
	if err := h.Start(ctx); err != nil {
		return err
	}
	answer, err := h.Call(ctx, &host.Call{
		Tool: abi.ToolSend, ID: "crash-1", Caller: abi.Caller{SessionKey: requester},
		Args: fmt.Appendf(nil, `{"sessionKey":%q,"message":"m #x#","timeoutSeconds":60}`, p.target(0)),
	})
	if err != nil {
		return err
	}
	if _, err := h.WaitFlow(ctx, answer.FlowID); err != nil {
		return err
	}
	if err := refused(h, p); err != nil {
		return err
	}
	fmt.Printf("%s\n", answer.Result)
	return errors.Join(h.Close(ctx), db.Close())
}

// refused fails when a token of an attempt that has ended is still accepted.
func refused(h *host.Host, p *place) error {
	files, err := filepath.Glob(filepath.Join(p.left(), "*.token"))
	for _, file := range files {
		token, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, ok := h.Identify(strings.TrimSpace(string(token))); ok {
			return fmt.Errorf("the token in %s is still accepted", file)
		}
	}
	return err
}

// commandAgent is the agent of the kind command: it leaves its process id and its
// token behind, and answers.
func commandAgent(args []string) error {
	name := filepath.Join(args[0], fmt.Sprint(os.Getpid()))
	if err := errors.Join(
		os.WriteFile(name+".token", []byte(os.Getenv("PARLEY_TOKEN")), 0o600),
		os.WriteFile(name+".pid", nil, 0o600),
	); err != nil {
		return err
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if think, err := time.ParseDuration(args[1]); err == nil {
		time.Sleep(think)
	}
	message := string(prompt)
	for _, end := range []string{"</context>\n", "</transcript>\n"} {
		if i := strings.LastIndex(message, end); i >= 0 {
			message = message[i+len(end):]
		}
	}
	fmt.Println(answer(message))
	return nil
}
