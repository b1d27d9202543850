// Package command is the agent that is a program: any command-line agent that
// reads a prompt from standard input and writes its answer to standard output.
//
// The program runs under a supervisor, a process of this executable that leads a
// session of its own and holds a pipe to the host:
//
//	started    the supervisor waits; its identity is committed (Turn.Leave)
//	released   one byte on the pipe: the program is started
//	ended      the program has exited, or the pipe has ended because the turn was
//	           cancelled, printed too much, or the host died
//	gone       what is left below the supervisor has been killed; it reports, exits
//
// So nothing that a program started outlives its turn or its host: not a process
// that ignores SIGTERM, nor one that left the process group, nor one that is
// stopped. Two cases remain, both of a supervisor that cannot act. If it is
// stopped, the host kills what is below it: in the turn or, when that host has
// died, in Reap. If it is killed, the program dies, and the rest of its session
// by the host's hand; a process that left the session goes on, and if the host
// was killed at the same time, so does the rest of the session. Where there is no
// /proc (systems other than Linux) the process group is all that is killed, and
// Reap finds nothing.
//
// An answer that the program wrote before it was cut off is not used: a turn that
// did not end by itself has none.
package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/runner"
)

// Options say which program is run, and how. Argv is required.
type Options struct {
	Argv           []string
	Dir            string            // working directory; empty: the host's
	Env            map[string]string // added to the small environment that environment describes; values of 8 bytes and more are shown in no error
	MaxOutputBytes int               // of standard output: 1 MiB

	HistoryMessages int // how much of the transcript a prompt carries: 50; below 0: none of it
	HistoryBytes    int // 256 KiB

	// Grace is how long a program that is to end has from SIGTERM to SIGKILL: 2 s.
	Grace time.Duration
	// Supervisor is a command that hands the arguments after its own to Supervise
	// and exits with what that returns: this executable with the argument
	// "runner-exec". Set it where the executable does not know that argument.
	Supervisor []string
}

// Agent runs a program for each turn.
type Agent struct {
	o        Options
	patience time.Duration // with a supervisor, beyond the grace
}

var _ runner.Reaper = (*Agent)(nil)

// New returns the agent. It does not start anything.
func New(o *Options) (*Agent, error) {
	if o == nil || len(o.Argv) == 0 || o.Argv[0] == "" {
		return nil, errors.New(`command: argv is empty; give the program and its arguments, such as ["claude", "-p"]`)
	}
	a := &Agent{o: *o, patience: 3 * time.Second}
	a.o.Argv = slices.Clone(o.Argv)
	for _, arg := range a.o.Argv {
		if strings.ContainsRune(arg, 0) {
			return nil, errors.New("command: argv has an argument with a NUL byte")
		}
	}
	if err := checkEnv(o.Env); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	for _, d := range []struct {
		of    *int
		value int
	}{
		{&a.o.MaxOutputBytes, 1 << 20},
		{&a.o.HistoryMessages, 50},
		{&a.o.HistoryBytes, 256 << 10},
	} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
	if a.o.Grace == 0 {
		a.o.Grace = 2 * time.Second
	}
	return a, nil
}

// Run implements runner.Runner.
func (a *Agent) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	text, err := a.run(ctx, t)
	switch {
	case err == nil:
		return &runner.Outcome{Text: text}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, fmt.Errorf("command: %w", err)
	}
}

func (a *Agent) run(ctx context.Context, t *runner.Turn) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	prompt, err := a.prompt(ctx, t)
	if err != nil {
		return "", err
	}
	env, secrets := a.o.environment(t)
	p, err := a.start(env, secrets, prompt)
	if err != nil {
		return "", err
	}
	if err := t.Leave(ctx, &p.identity); err != nil {
		p.end()
		p.wait()
		return "", fmt.Errorf("commit what is about to run: %w", err)
	}
	forget := context.AfterFunc(ctx, p.end)
	defer forget()
	p.release()
	ended := p.wait()
	switch {
	case ctx.Err() != nil && ended.Cut:
		return "", ctx.Err()
	case p.stdout.over():
		return "", fmt.Errorf("%s printed more than %d bytes and was ended; raise maxOutputBytes, or let it say less", a.o.Argv[0], a.o.MaxOutputBytes)
	}
	if err := ended.err(a.o.Argv[0], p.stderr.String()); err != nil {
		return "", err
	}
	return strings.TrimSpace(runner.Text(p.stdout.String())), nil
}
