// Command crash kills and stops Parley at every commit and outside effect, and at random
// moments under load, and checks that the next process recovers.
//
// An exchange is one call and all that follows from it: a sessions_send with two reply
// turns and an announce, or a sessions_spawn with a child's run, its announce, the delivery,
// and the end of the child's session. A scenario says what is called and where it is
// disturbed (scenario.go); a call knows what must follow from it (send.go, spawn.go).
//
// First an undisturbed exchange numbers its points: its commits and outside effects, which
// are posts to a channel and executions of an agent. Then the exchange runs again for each
// point, with a SIGKILL before it and after it, and a second process finishes it (kill.go).
// So for a channel of each kind, and for an agent that is a program of its own. Some
// scenarios run once more with SIGSTOP: the first process is continued while the second
// is at work, or when it is done (stop.go). A process whose flow only waits for a time
// restarts its host with a clock set to that time, so that the archiving of a child has
// points too. At last `parley serve` is killed at random moments under load, first of
// sends, then of spawns of all kinds (random.go).
//
// Checked is: every point was reached; every accepted message, turn, child and announce
// is in its right final state, once, and nothing stays scheduled; no step was taken
// twice; exactly those runs had a second attempt that were under way, or ended as
// interrupted if no attempt was left; every report has the status of its child's run, and
// the reason if that failed; silence was respected; children are archived not before their
// time, or deleted, and never more of them at work than allowed; exactly those posts were
// repeated that had been made and not recorded, channels that drop repeated keys showed
// them once, and nothing else was posted; a process that was continued changed nothing;
// no process of an attempt that has ended was alive when the next one began, and its token is
// refused. SIGKILL cannot show that a commit survives the end of the machine: that is
// the database's setting, and tested as such.
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

// Roles in which the program starts itself.
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
	sendKills  = flag.Int("kills", 500, "kill a gateway at random under load of sends this often")
	spawnKills = flag.Int("spawn-kills", 300, "kill a gateway at random under load of spawns this often")
	only       = flag.String("only", "", "run only the parts whose name contains this text, such as telegram or random")
	seed       = flag.Uint64("seed", uint64(time.Now().Unix()), "seed of the random calls and kills; by default the time")
)

// part is a scenario, or random kills under a load.
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
