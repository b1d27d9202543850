// Command long runs the long tests with their full numbers of repetitions, one
// stage after the other, and appends the counts of each stage to a log. The totals
// of a revision can come from several runs on several days.
//
// A stage is a verb of build.sh, which prints its counts in lines of the form
// "summary {NAME:NUMBER,…}". Command long adds these numbers up. If a stage fails,
// the failure is logged too, and the other stages still run.
//
//	./build.sh long [STAGE...] [-seed N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "long:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	seed, chosen, err := parse(args)
	if err != nil {
		return err
	}
	log, err := logFile()
	if err != nil {
		return err
	}
	revision, err := describe(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("revision %s, seed %d\n", revision, seed)
	var failures []string
	for _, s := range chosen {
		e := s.run(ctx, seed)
		e.Revision = revision
		fmt.Printf("=== %s: %s after %.0f s\n", s.verb, e.Outcome, e.Seconds)
		if err := appendTo(log, e); err != nil {
			return err
		}
		if e.Outcome != passed {
			failures = append(failures, s.verb)
		}
		if ctx.Err() != nil {
			break
		}
	}
	all, err := load(log)
	if err != nil {
		return err
	}
	fmt.Printf("=== totals of %s in %s\n%s", revision, log, totals(all, revision))
	if len(failures) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failures, ", "))
	}
	return ctx.Err()
}

// parse returns the seed and the stages that the arguments name, or all stages if they
// name none. Flags may follow names.
func parse(args []string) (seed uint64, chosen []stage, err error) {
	flags := flag.NewFlagSet("long", flag.ContinueOnError)
	flags.Uint64Var(&seed, "seed", uint64(time.Now().Unix()), "`seed` of random choices")
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: ./build.sh long [STAGE...] [-seed N]\nstages: %s; default: all\n", strings.Join(names(), ", "))
		flags.PrintDefaults()
	}
	for {
		if err := flags.Parse(args); err != nil {
			return 0, nil, err
		}
		if flags.NArg() == 0 {
			break
		}
		i := slices.IndexFunc(stages, func(s stage) bool { return s.verb == flags.Arg(0) })
		if i < 0 {
			return 0, nil, fmt.Errorf("%s is not a stage; the stages are %s", flags.Arg(0), strings.Join(names(), ", "))
		}
		chosen, args = append(chosen, stages[i]), flags.Args()[1:]
	}
	if chosen == nil {
		chosen = stages
	}
	return seed, chosen, nil
}

// logFile returns the log's path. It creates the log's folder.
func logFile() (string, error) {
	path := os.Getenv("PARLEY_LONG_LOG")
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(cache, "parley", "long.jsonl")
	}
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

// describe returns the revision, followed by -dirty if the checkout differs from it.
func describe(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "", errors.Join(errors.New("git describe"), err)
	}
	return strings.TrimSpace(string(out)), nil
}
