// Command crashtest kills Parley and looks what became of the work.
//
// An exchange here is a sessions_send with two reply turns and an announce. First
// one is run to number its commits and outside effects (posts to a sink, runs of
// an agent). Then it is run again for each of them, with a SIGKILL before and
// after it, and finished by a second process; so for a sink of each kind, and for
// an agent that is a program of its own. Then once more, but with SIGSTOP: the
// first process is continued when the second is at work, and when it is done. At
// last a serving gateway is killed at random moments under load. The model's
// endpoint and the sinks live here, and outlive everything.
//
// All of this is asserted: every point was reached; every accepted message, turn
// and announce is in its right final state, once, and nothing stays scheduled; no
// step was taken twice; exactly those runs had a second attempt that were under
// way; exactly those posts were repeated that had been made and not recorded, and
// sinks that honour keys were seen to get them once; a process that was continued
// changed nothing; nothing of an old attempt was alive when the next one began,
// and its token is refused. What SIGKILL cannot show, that a commit is on disk
// when the machine dies, is the database's setting, and tested as such.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/host/run/agent/command"
)

func main() {
	ctx := context.Background()
	var err error
	switch role := append(os.Args, "")[1]; role {
	case "child":
		err = child(ctx, os.Args[2:])
	case "agent":
		err = commandAgent(os.Args[2:])
	case "runner-exec":
		os.Exit(command.Supervise(os.Args[2:]))
	default:
		err = crash(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashtest:", err)
		os.Exit(1)
	}
}

func crash(ctx context.Context) error {
	kills := flag.Int("kills", 500, "random kills of a gateway under load; 0: none")
	flag.Parse()
	dir, err := os.MkdirTemp("", "parley-crash-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	problems := 0
	// What was found before a failure tells more than the failure.
	keep := func(err error, t *tally) error {
		for _, p := range t.problems {
			fmt.Println("PROBLEM", p)
		}
		problems += len(t.problems)
		return err
	}
	for _, s := range []scenario{
		{"", "webhook", "ops", false}, {"", "webhook", "cmd", false},
		{"", "discord", "ops", true}, {"", "telegram", "ops", true}, {"", "slack", "ops", true},
	} {
		s.dir = filepath.Join(dir, s.receiver+"-"+s.agent)
		points, err := s.count(ctx)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.receiver, s.agent, err)
		}
		for _, disturb := range []func(context.Context, []string, *tally) error{s.kills, s.stops} {
			t := &tally{}
			if err := keep(disturb(ctx, points, t), t); err != nil {
				return fmt.Errorf("%s, %s: %w", s.receiver, s.agent, err)
			}
		}
	}
	if *kills > 0 {
		t := &tally{}
		if err := keep(random(ctx, dir, *kills, t), t); err != nil {
			return err
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d problems", problems)
	}
	fmt.Printf("0 lost, 0 repeated messages and steps; %s\n", time.Since(start).Round(time.Second))
	return nil
}
