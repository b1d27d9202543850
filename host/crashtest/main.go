// Command crashtest kills Parley and looks what became of the work.
//
// An exchange here is a sessions_send with two reply turns and an announce. First
// one is run to number its commits and outside effects (posts to a sink, runs of
// an agent). Then it is run again for each of them, with a SIGKILL before and
// after it, and finished by a second process; so for a sink of each kind, and for
// an agent that is a program of its own. Then a serving gateway is killed at
// random moments under load. The model's endpoint and the sinks live here, and
// outlive every kill.
//
// All of this is asserted: every accepted message, turn and announce is in its
// right final state, once; no step was taken twice; sinks that honour keys were
// seen to get each text once, and the others twice only after a kill between the
// post and its record; nothing of an old attempt is alive, and its token is
// refused. What SIGKILL cannot show, that a commit is on disk when the machine
// dies, is the database's setting, and tested as such.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
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
	var problems []string
	for _, s := range []struct {
		receiver, agent string
		onlyPosts       bool
	}{
		{"webhook", "ops", false}, {"webhook", "cmd", false}, {"discord", "ops", true}, {"telegram", "ops", true}, {"slack", "ops", true},
	} {
		t, err := numbered(ctx, fmt.Sprintf("%s/%s-%s", dir, s.receiver, s.agent), s.receiver, s.agent, s.onlyPosts)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.receiver, s.agent, err)
		}
		// Only a kill right after the post, and before its record, may repeat it.
		if honours := s.receiver == "webhook" || s.receiver == "discord"; honours && t.repeats > 0 || t.repeats > 1 {
			t.fail("%s: %d messages were seen twice", s.receiver, t.repeats)
		}
		problems = append(problems, t.problems...)
	}
	if *kills > 0 {
		t, err := random(ctx, dir, *kills)
		if err != nil {
			return err
		}
		if t.repeats > 0 {
			t.fail("random: %d messages were seen twice", t.repeats)
		}
		problems = append(problems, t.problems...)
	}
	for _, p := range problems {
		fmt.Println("PROBLEM", p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems", len(problems))
	}
	fmt.Printf("0 lost, 0 repeated messages and steps; %s\n", time.Since(start).Round(time.Second))
	return nil
}
