// Package command implements the runner that executes a program: any command-line
// agent that reads a prompt from standard input and writes its answer to standard
// output.
//
// The program runs under a supervisor, a process of this executable that leads its
// own session and holds a pipe to the host:
//
//	started    the supervisor waits while the host commits the supervisor's identity
//	           (Turn.Leave)
//	released   the host has sent one byte: the supervisor starts the program
//	ended      the program has exited, or the host's end of the pipe was closed
//	           because the turn was cancelled, the program printed too much, or the
//	           host died
//	gone       the supervisor has killed all its descendants; it reports and exits
//
// So no process that a program started outlives its turn or its host, even if that
// process ignores SIGTERM, has left the process group, or is stopped. There are two
// exceptions, in which the supervisor cannot act:
//
//   - If the supervisor is stopped, the host kills the supervisor's descendants in the
//     turn. If that host has died, the next host kills them in Reap.
//   - If the supervisor is killed, the kernel kills the program, and the host kills
//     the other processes of the supervisor's session. Processes that left the session
//     survive. If the host is killed at the same time, all but the program survive.
//
// Without /proc (systems other than Linux) only the process group is killed, and Reap
// finds nothing.
//
// If the supervisor had to end the program, the program's answer is discarded.
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

// Options configures the program and its execution. Argv is required.
type Options struct {
	Argv           []string
	Dir            string            // working directory; empty: the host's
	Env            map[string]string // added to the inherited variables; values of 8 bytes and more are concealed in errors
	MaxOutputBytes int               // of standard output; 0: 1 MiB

	HistoryMessages int // messages of the transcript in a prompt; 0: 50; negative: none
	HistoryBytes    int // 0: 256 KiB

	// Grace is the time between SIGTERM and SIGKILL; 0: 2 s.
	Grace time.Duration
	// Supervisor is a command that passes the arguments after its own to Supervise
	// and exits with the result. Default: this executable with the argument
	// "runner-exec". Set it for an executable that does not know that argument.
	Supervisor []string
}

// Runner runs a program for each turn.
type Runner struct {
	o         Options
	exitDelay time.Duration // additional time, beyond the grace, for the supervisor to exit
}

var _ runner.Reaper = (*Runner)(nil)

// New returns a runner. It starts no process.
func New(o *Options) (*Runner, error) {
	if o == nil || len(o.Argv) == 0 || o.Argv[0] == "" {
		return nil, errors.New(`command: argv is empty; give the program and its arguments, such as ["claude", "-p"]`)
	}
	rn := &Runner{o: *o, exitDelay: 3 * time.Second}
	rn.o.Argv = slices.Clone(o.Argv)
	for _, arg := range rn.o.Argv {
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
		{&rn.o.MaxOutputBytes, 1 << 20},
		{&rn.o.HistoryMessages, 50},
		{&rn.o.HistoryBytes, 256 << 10},
	} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
	if rn.o.Grace == 0 {
		rn.o.Grace = 2 * time.Second
	}
	return rn, nil
}

// Run implements runner.Runner.
func (rn *Runner) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	text, err := rn.run(ctx, t)
	switch {
	case err == nil:
		return &runner.Outcome{Text: text}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, fmt.Errorf("command: %w", err)
	}
}

func (rn *Runner) run(ctx context.Context, t *runner.Turn) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	prompt, err := rn.prompt(ctx, t)
	if err != nil {
		return "", err
	}
	env, secrets := rn.o.environment(t)
	p, err := rn.start(env, secrets, prompt)
	if err != nil {
		return "", err
	}
	if err := t.Leave(ctx, &p.identity); err != nil {
		p.end()
		p.wait()
		return "", fmt.Errorf("commit the supervisor's identity: %w", err)
	}
	unlink := context.AfterFunc(ctx, p.end)
	defer unlink()
	p.release()
	ended := p.wait()
	switch {
	case ctx.Err() != nil && ended.Aborted:
		return "", ctx.Err()
	case p.stdout.over():
		return "", fmt.Errorf("%s printed more than %d bytes and was ended; raise maxOutputBytes, or make it print less", rn.o.Argv[0], rn.o.MaxOutputBytes)
	}
	if err := ended.err(rn.o.Argv[0], p.stderr.String()); err != nil {
		return "", err
	}
	return strings.TrimSpace(runner.Text(p.stdout.String())), nil
}
