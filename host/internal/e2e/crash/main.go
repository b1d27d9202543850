// Command crash kills and stops Parley at every commit and external effect, and at random
// moments under load, and checks that the next process recovers.
//
// A scenario (scenario.go) defines a call and the points at which its process is halted. A
// trial (trial.go) is one execution of a scenario: the call and all work that results from
// it. For a sessions_send that is the target's run, two reply turns, an announce and its
// delivery; for a sessions_spawn, a child's run, its announce, the delivery, and the
// archiving or deletion of the child's session. The calls (send.go, spawn.go) define the
// expected result.
//
// The first trial of a scenario runs without faults and numbers its points: its commits and
// its external effects, which are posts to a channel and executions of an agent. For each
// point, one trial kills the process with SIGKILL before the point and one after it; then a
// second process completes the work (kill.go). There are scenarios for each kind of channel,
// and for an agent that is a separate program. Some scenarios also use SIGSTOP: the first
// process is continued while the second one works, or after it has ended (stop.go). When the
// flow waits only for a time, the process restarts its host with the clock set to that time,
// so the archiving of a child has points too. Finally, `parley serve` is killed at random
// moments under load, first of sends, then of spawns of all kinds (random.go).
//
// The program checks that
//   - every point was reached;
//   - every accepted message, turn, child and announce is in the expected final state
//     exactly once, and nothing remains scheduled;
//   - no step ran twice;
//   - the runs with a second attempt are exactly those that were interrupted; a run without
//     attempts left ended as interrupted;
//   - every report has the status of its child's run, and the reason if the run failed;
//   - no report follows an ANNOUNCE_SKIP;
//   - children are archived, not before their time, or deleted, and no session has more
//     active children than allowed;
//   - the repeated posts are exactly those that were made but not recorded (a process that
//     continues within its lease may repeat one more); channels that drop repeated keys show
//     them once; nothing else was posted;
//   - a continued process changed no stored row;
//   - no process of an ended attempt was alive when the next attempt started, and the
//     attempt's token is rejected.
//
// SIGKILL cannot show that a commit survives a crash of the machine: that depends on the
// database's settings, which have their own tests.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/run/command"
)

// Roles of the processes that the program starts from its own executable.
const (
	roleGateway    = "gateway"
	roleAgent      = "agent"
	roleSupervisor = "runner-exec"
)

func main() {
	var err error
	switch role := append(os.Args, "")[1]; role {
	case roleGateway:
		err = serve(context.Background(), os.Args[2])
	case roleAgent:
		err = commandAgent(os.Args[2], os.Args[3])
	case roleSupervisor:
		os.Exit(command.Supervise(os.Args[2:]))
	default:
		e2e.Main("crash", crash)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

var (
	sendKills  = flag.Int("kills", 500, "number of random kills of a gateway under a load of sends")
	spawnKills = flag.Int("spawn-kills", 300, "number of random kills of a gateway under a load of spawns")
	only       = flag.String("only", "", "run only the parts with a name that contains this text, such as telegram or random")
	seed       = flag.Uint64("seed", uint64(time.Now().Unix()), "seed of the random calls and kills; default: the time")
)

// part is a scenario, or the random kills under one load.
type part struct {
	name string
	run  func(ctx context.Context, dir string, r *e2e.Report) error
}

func parts() (all []part) {
	for i, s := range scenarios() {
		all = append(all, part{s.String(), func(ctx context.Context, dir string, r *e2e.Report) error {
			s.dir = filepath.Join(dir, fmt.Sprint(i))
			return s.run(ctx, r)
		}})
	}
	for _, l := range []*load{sends(*sendKills), spawns(*spawnKills)} {
		all = append(all, part{"random " + l.name, func(ctx context.Context, dir string, r *e2e.Report) error {
			return l.run(ctx, dir, *seed, r)
		}})
	}
	return all
}

func crash(ctx context.Context, dir string, r *e2e.Report) error {
	fmt.Println("seed", *seed)
	start := time.Now()
	var names []string
	chosen := 0
	for _, p := range parts() {
		names = append(names, p.name)
		if !strings.Contains(p.name, *only) {
			continue
		}
		chosen++
		if err := p.run(ctx, dir, r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if chosen == 0 {
		return fmt.Errorf("no part's name contains %q; the parts are %s", *only, strings.Join(names, ", "))
	}
	if len(r.Problems()) == 0 {
		fmt.Printf("0 lost, 0 repeated messages and steps; %s\n", time.Since(start).Round(time.Second))
	}
	return nil
}
