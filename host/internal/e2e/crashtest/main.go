// Command crashtest kills Parley and looks what became of the work.
//
// An exchange here is one call and all that follows from it: a sessions_send with
// two reply turns and an announce, or a sessions_spawn with a child's run, its
// announce, the delivery, and the end of the child's session. A scenario says what
// is called, and where it is disturbed (scenario.go); a call knows what must come
// of it (send.go, spawned.go).
//
// First an exchange is run to number its commits and outside effects (posts to a
// sink, runs of an agent). Then it is run again for each of them, with a SIGKILL
// before and after it, and finished by a second process; so for a sink of each
// kind, and for an agent that is a program of its own. Then, in some scenarios, once
// more, but with SIGSTOP: the first process is continued when the second is at work,
// and when it is done. A process whose flow has only to wait for a time opens its
// gateway anew, at that time; so the archiving of a child has numbers too. At last a
// serving gateway is killed at random moments under load, of sends, and then of
// spawns of all kinds (load.go). The model's endpoint and the sinks live here, and
// outlive everything.
//
// All of this is asserted: every point was reached; every accepted message, turn,
// child and announce is in its right final state, once, and nothing stays scheduled;
// no step was taken twice; exactly those runs had a second attempt that were under
// way, or ended as interrupted if they may have none; every report has the status
// of its child's run, and the reason if that failed; who asked for silence got it;
// children are archived not before their time, or deleted, and never more of them
// at work than allowed; exactly those posts were repeated that had been made and not
// recorded, sinks that honour keys were seen to get them once, and nothing else was
// posted; a process that was continued changed nothing; nothing of an old attempt
// was alive when the next one began, and its token is refused. What SIGKILL cannot
// show, that a commit is on disk when the machine dies, is the database's setting,
// and tested as such.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/internal/run/command"
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

func crash(ctx context.Context) (failed error) {
	sendKills := flag.Int("kills", 500, "random kills of a gateway under load of sends; 0: none")
	spawnKills := flag.Int("spawn-kills", 300, "random kills of a gateway under load of spawns; 0: none")
	only := flag.String("only", "", "run only the scenarios whose name contains this")
	seed := flag.Uint64("seed", uint64(time.Now().Unix()), "of the random calls and kills; by itself the time")
	flag.Parse()
	fmt.Println("seed", *seed)
	dir, err := os.MkdirTemp("", "parley-crash-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	problems := 0
	counts := map[string]int{}
	// What was found before a failure tells more than the failure.
	report := func(t *tally) {
		for _, p := range t.problems {
			fmt.Println("PROBLEM", p)
		}
		problems += len(t.problems)
	}
	defer func() {
		counts["problems"] = problems
		text, err := json.Marshal(counts)
		fmt.Printf("summary %s\n", text)
		failed = errors.Join(failed, err)
	}()
	for i, s := range scenarios() {
		if !strings.Contains(s.name, *only) {
			continue
		}
		s.dir = filepath.Join(dir, fmt.Sprint(i))
		t := &tally{}
		err := s.run(ctx, t)
		report(t)
		counts["kills"] += t.kills
		counts["stops"] += t.stops
		if err != nil {
			return err
		}
	}
	for _, r := range []struct {
		load  *load
		kills int
	}{{sends(), *sendKills}, {spawns(), *spawnKills}} {
		if r.kills == 0 {
			continue
		}
		t := &tally{}
		err := r.load.random(ctx, dir, r.kills, *seed, t)
		report(t)
		counts["randomKills"] += t.kills
		counts[r.load.name] = t.exchanges
		if err != nil {
			return fmt.Errorf("%s: %w", r.load.name, err)
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d problems", problems)
	}
	fmt.Printf("0 lost, 0 repeated messages and steps; %s\n", time.Since(start).Round(time.Second))
	return nil
}
