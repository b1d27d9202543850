// Command bench measures two gateways over HTTP, one with a small and one with a big store.
// It alternates requests between them, so that external load affects both, and prints medians
// and their ratio. It does not check times against limits. At the end it measures sends and
// spawns in hosts in its own process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

func main() { e2e.Main("bench", run) }

var (
	sessions = flag.Int("sessions", 10_000, "sessions of the big store; the small one has 100")
	long     = flag.Int("long", 200_000, "messages of the big store's longest session; the small one's has 100")
	large    = flag.Int("large", 100, "MB of the big store's largest session")
	requests = flag.Int("requests", 300, "requests per query and store")
)

func run(ctx context.Context, dir string, _ *e2e.Report) (err error) {
	program, err := e2e.Build(ctx, dir)
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "parley.json5")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return err
	}
	var gateways [2]*e2e.Gateway
	for i, s := range []struct {
		name   string
		stored storegen.Options
	}{
		{"small", storegen.Options{Sessions: 100, LongMessages: 100}},
		{"big", storegen.Options{Sessions: *sessions, LongMessages: *long, LargeBytes: *large << 20}},
	} {
		g := &e2e.Gateway{Program: program, Database: filepath.Join(dir, s.name+".db"), Config: config, Cache: filepath.Join(dir, "cache"), Log: os.Stderr}
		if err := generate(ctx, g.Database, s.name, &s.stored); err != nil {
			return fmt.Errorf("generate the %s store: %w", s.name, err)
		}
		if err := g.Start(ctx); err != nil {
			return fmt.Errorf("start on the %s store: %w", s.name, err)
		}
		defer func() { err = errors.Join(err, g.Stop()) }()
		gateways[i] = g
	}
	if err := compare(ctx, gateways, *requests); err != nil {
		return err
	}
	if err := saturate(ctx, gateways); err != nil {
		return err
	}
	return errors.Join(measureSends(ctx, dir), measureSpawns(ctx, dir))
}

// configuration makes all sessions visible to the caller. This is the slowest case, because
// the store cannot exclude rows.
const configuration = `{ tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } } }`

func generate(ctx context.Context, file, name string, o *storegen.Options) error {
	begin := time.Now()
	o.Seed, o.Now = 1, begin
	return e2e.WithStore(ctx, file, func(db *sqlite.DB) error {
		made, err := storegen.Generate(ctx, db, o)
		if err != nil {
			return err
		}
		fmt.Printf("%s store: %d sessions, %d messages, %d MB, made in %.1f s\n",
			name, made.Sessions, made.Messages, made.Bytes>>20, time.Since(begin).Seconds())
		return nil
	})
}
