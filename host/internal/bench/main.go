// Command bench measures a gateway as its clients see it: over HTTP, against
// stores of different sizes, in one run. It compares two servers request by
// request, so that what disturbs one disturbs the other, and prints medians and
// their ratio; no time is ever asserted. At last it measures sends and spawns in
// hosts of its own process.
//
//	go run ./host/bench [-sessions N] [-long N] [-large MB] [-requests N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/host/internal/bench/gateway"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// size is one of the two stores that are compared.
type size struct {
	name     string
	sessions int
	long     int // messages of the long session
	large    int // bytes of the large session; 0 = none
}

func run(ctx context.Context) (err error) {
	sessions := flag.Int("sessions", 10_000, "sessions of the big store; the small one has 100")
	long := flag.Int("long", 200_000, "messages of the big store's longest session; the small one's has 100")
	large := flag.Int("large", 100, "MB of the big store's largest session")
	requests := flag.Int("requests", 300, "requests per row and store")
	flag.Parse()

	dir, err := os.MkdirTemp("", "parley-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := gateway.Build(ctx, dir)
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "parley.json5")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return err
	}

	sizes := [2]size{
		{"small", 100, 100, 0},
		{"big", *sessions, *long, *large << 20},
	}
	var servers [2]*gateway.Gateway
	for i, s := range sizes {
		db := filepath.Join(dir, s.name+".db")
		if err := generate(ctx, db, s); err != nil {
			return fmt.Errorf("generate the %s store: %w", s.name, err)
		}
		if servers[i], err = gateway.Start(ctx, binary, db, config, connections); err != nil {
			return fmt.Errorf("start on the %s store: %w", s.name, err)
		}
		defer func() { err = errors.Join(err, servers[i].Stop()) }()
	}
	if err := compare(ctx, servers, *requests); err != nil {
		return err
	}
	if err := saturate(ctx, sizes, servers); err != nil {
		return err
	}
	return errors.Join(sends(ctx, dir), children(ctx, dir))
}

// configuration lets the caller see everything, which is the hardest case: the
// store has nothing to leave out.
const configuration = `{
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  gateway: { tokens: [{ token: "bench", operator: true }] },
}`

func generate(ctx context.Context, path string, s size) (err error) {
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	begin := time.Now()
	made, err := storegen.Generate(ctx, db, &storegen.Options{
		Seed: 1, Sessions: s.sessions, LongMessages: s.long, LargeBytes: s.large, Now: time.Now(),
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s store: %d sessions, %d messages, %d MB, made in %.1f s\n",
		s.name, made.Sessions, made.Messages, made.Bytes>>20, time.Since(begin).Seconds())
	return nil
}
