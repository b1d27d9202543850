// Command swaps swaps the plugin of a gateway repeatedly while clients call it, and checks
// every answer.
//
// The builds are copies of the plugin with different texts in one of its answers, so that an
// answer identifies its build. A swap is POST /v1/plugins with the module's bytes and digest.
// Compiled modules are not cached, so every swap includes the compilation.
//
// The program fails if a call fails, if an answer comes from a build that was not active
// during the call, if a send does not return its own reply, if work is open at the end, or
// if the resident memory at the end exceeds the memory after the first swaps by more than a
// tenth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

func main() { e2e.Main("swaps", run) }

const (
	targets  = 64     // sessions that receive messages
	messages = 20_000 // of the longest session: larger than the database's caches
	page     = 200    // messages per call while the caches are filled
)

func target(n int) string { return fmt.Sprintf("agent:ops:target%d", n) }

// configuration makes sends take longer than a swap.
const configuration = `{
  session: { agentToAgent: { maxPingPongTurns: 0 } },
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: { list: [
    { id: "main", default: true },
    { id: "ops", runner: { kind: "script", replies: [{ text: "heard: {{message}}", afterMs: 2000 }] } },
  ] },
}`

var (
	swaps   = flag.Int("swaps", 1000, "number of swaps")
	builds  = flag.Int("builds", 20, "number of builds")
	clients = flag.Int("clients", 8, "number of clients")
)

func run(ctx context.Context, dir string, r *e2e.Report) (err error) {
	if *swaps < 1 || *builds < 2 || *clients < 1 {
		return errors.New("-swaps and -clients must be at least 1, -builds at least 2")
	}
	modules, err := makeBuilds(*builds)
	if err != nil {
		return err
	}
	g, err := start(ctx, dir)
	if err != nil {
		return err
	}
	if err := fillCaches(ctx, g, *clients); err != nil {
		return errors.Join(err, g.Stop())
	}
	s := &swapper{callers: callers{r, g, &timeline{}}}
	s.builds.begin(builtIn)
	s.builds.end()
	load := e2e.StartLoad(ctx, *clients, s.call)
	err = s.swapAll(load.Context(), modules, *swaps)
	if err = errors.Join(load.Stop(), err); err != nil {
		return errors.Join(err, g.Stop())
	}
	err = e2e.WithStore(ctx, g.Database, func(db *sqlite.DB) error { return e2e.Drain(ctx, db, time.Hour) })
	if err = errors.Join(err, g.Stop()); err != nil {
		return err
	}
	rows, err := e2e.ReadRows(ctx, g.Database)
	if err != nil {
		return err
	}
	rows.CheckEnded(r)
	fmt.Printf("%d swaps among %d builds in %v: median %v, slowest %v\n", *swaps, *builds, sum(s.took).Round(time.Second),
		median(s.took).Round(time.Millisecond), slices.Max(s.took).Round(time.Millisecond))
	fmt.Printf("%d calls of %d clients, none failed; %d answers identified an active build; %d sends, %d of them across a swap, all answered\n",
		r.Counted(countCalls), *clients, r.Counted(countIdentify), r.Counted(countSends), r.Counted(countAcross))
	return checkMemory(s.resident)
}

// start starts a gateway whose database has a long session and the targets.
func start(ctx context.Context, dir string) (*e2e.Gateway, error) {
	// Cache names a regular file, so the gateway cannot cache modules.
	g := &e2e.Gateway{
		Database: filepath.Join(dir, "parley.db"), Config: filepath.Join(dir, "parley.json5"),
		Cache: filepath.Join(dir, "file"), Log: os.Stderr,
	}
	if err := errors.Join(os.WriteFile(g.Config, []byte(configuration), 0o600), os.WriteFile(g.Cache, nil, 0o600)); err != nil {
		return nil, err
	}
	err := e2e.WithStore(ctx, g.Database, func(db *sqlite.DB) error {
		_, err := storegen.Generate(ctx, db, &storegen.Options{Seed: 1, Sessions: 100, LongMessages: messages, Now: time.Now()})
		return err
	})
	if err != nil {
		return nil, err
	}
	sessions := make([]*abi.Session, targets)
	for n := range sessions {
		sessions[n] = &abi.Session{Key: target(n), SessionID: target(n), UpdatedAt: 1}
	}
	if err := e2e.PutSessions(ctx, g.Database, sessions...); err != nil {
		return nil, err
	}
	if g.Program, err = e2e.Build(ctx, dir); err != nil {
		return nil, err
	}
	return g, g.Start(ctx)
}

// fillCaches fills the database's caches with as many readers as there will be clients, so
// that the caches do not grow during the swaps.
func fillCaches(ctx context.Context, g *e2e.Gateway, readers int) error {
	group, ctx := errgroup.WithContext(ctx)
	for range readers {
		group.Go(func() (err error) {
			for offset := 0; offset < messages/2 && err == nil; offset += page {
				_, err = g.Call(ctx, abi.ToolHistory, fmt.Sprintf(`{"sessionKey": %q, "limit": %d, "offset": %d}`, storegen.LongKey, page, offset))
			}
			return err
		})
	}
	return group.Wait()
}

const progressInterval = 10 * time.Second

// swapper swaps builds while clients call.
type swapper struct {
	callers
	resident []float64       // MB after each swap
	took     []time.Duration // by each swap
}

func (s *swapper) swapAll(ctx context.Context, builds [][]byte, swaps int) error {
	printed := time.Now()
	for n := range swaps {
		build := n % len(builds)
		if err := s.swap(ctx, build, builds[build]); err != nil {
			return fmt.Errorf("swap %d: %w", n+1, err)
		}
		mb, err := s.gateway.Resident()
		if err != nil {
			return err
		}
		s.resident = append(s.resident, mb)
		if time.Since(printed) > progressInterval {
			printed = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d swaps, %.0f MB resident\n", n+1, swaps, mb)
		}
	}
	return nil
}

func (s *swapper) swap(ctx context.Context, build int, bytes []byte) error {
	digest := module.Digest(bytes)
	begin := time.Now()
	s.builds.begin(build)
	status, answer, err := s.gateway.Post(ctx, "/v1/plugins?digest="+url.QueryEscape(digest), "application/wasm", "", bytes)
	if err != nil {
		return err
	}
	s.builds.end()
	s.took = append(s.took, time.Since(begin))
	s.Count("swaps", 1)
	if status != http.StatusOK || gjson.GetBytes(answer, "active.digest").Str != digest || gjson.GetBytes(answer, "same").Bool() {
		return fmt.Errorf("swap to %s: status %d: %.400s", digest, status, answer)
	}
	return nil
}

const (
	settled = 50  // swaps before the first measurement
	growth  = 1.1 // maximum ratio of the last measurement to the first
	window  = 20  // swaps per measurement, which is their median
)

// checkMemory compares the memory after the last swaps with the memory after the first ones.
func checkMemory(resident []float64) error {
	n := len(resident)
	if n < settled+window {
		fmt.Printf("resident memory at the end: %.0f MB; the comparison needs %d swaps\n", resident[n-1], settled+window)
		return nil
	}
	first, last := median(resident[settled-window/2:settled+window/2]), median(resident[n-window:])
	fmt.Printf("resident memory: %.0f MB after %d swaps, %.0f MB after %d: %+.0f MB, factor %.2f\n", first, settled, last, n, last-first, last/first)
	if last > first*growth {
		return fmt.Errorf("memory has grown from %.0f to %.0f MB", first, last)
	}
	return nil
}

func median[T time.Duration | float64](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func sum(all []time.Duration) (total time.Duration) {
	for _, d := range all {
		total += d
	}
	return total
}
