// Command swaps swaps the plugin of a gateway again and again while clients call
// it, and looks at every answer.
//
// The builds are the plugin with another text in one of its answers, so that an
// answer tells which of them gave it. A swap is POST /v1/plugins with the file's
// bytes and digest, and takes the full path each time: the compiled module is kept
// nowhere.
//
// It fails if a call fails, an answer comes from a version that was not active
// during the call, a send does not end with its own reply, or more memory is
// resident at the end than after the first swaps, by more than a tenth.
//
//	go run ./host/bench/swaps [-swaps N] [-builds N] [-clients N]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/bench/gateway"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "swaps:", err)
		os.Exit(1)
	}
}

const (
	settled = 50               // swaps after which memory must not grow any more …
	growth  = 1.1              // … beyond this part of what it was
	window  = 20               // swaps over which it is looked at
	report  = 10 * time.Second // between two lines of progress
)

func run(ctx context.Context) (err error) {
	swaps := flag.Int("swaps", 1000, "how often to swap")
	builds := flag.Int("builds", 20, "how many builds to swap among")
	clients := flag.Int("clients", 8, "how many clients call all the time")
	flag.Parse()
	if *swaps < 1 || *builds < 2 || *clients < 1 {
		return errors.New("there must be a swap, two builds and a client")
	}

	dir, err := os.MkdirTemp("", "parley-swaps-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g, err := start(ctx, dir, *clients+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	files, err := write(dir, *builds)
	if err != nil {
		return err
	}

	if err := fillCaches(ctx, g, *clients); err != nil {
		return err
	}
	line := &timeline{}
	line.begin(builtIn)
	line.end()
	l := startLoad(ctx, g, line, *clients)
	resident, took, err := swap(l.ctx, g, line, files, *swaps)
	done := l.stop()
	if err = errors.Join(done.err, err); err != nil {
		return err
	}
	fmt.Printf("%d swaps among %d builds in %v: median %v, slowest %v\n", *swaps, *builds, sum(took).Round(time.Second),
		middle(took).Round(time.Millisecond), slices.Max(took).Round(time.Millisecond))
	fmt.Printf("%d calls of %d clients meanwhile, none failed; %d answers named their build, each one that was active; %d sends, %d of them across a swap, all answered\n",
		done.calls, *clients, done.named, done.sends, done.across)
	fmt.Printf("summary {\"swaps\":%d,\"calls\":%d,\"sends\":%d,\"sendsAcrossASwap\":%d}\n", *swaps, done.calls, done.sends, done.across)
	return grown(resident)
}

// configuration lets sends take longer than a swap.
const configuration = `{
  session: { agentToAgent: { maxPingPongTurns: 0 } },
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: { list: [
    { id: "main", default: true },
    { id: "ops", runner: { kind: "script", replies: [{ text: "heard: {{message}}", afterMs: 2000 }] } },
  ] },
  gateway: { tokens: [{ token: "` + gateway.Token + `", operator: true }] },
}`

// target is a session that is sent to.
func target(n int) string { return fmt.Sprintf("agent:ops:target%d", n) }

const targets = 64

// messages are more than the database's caches hold, and page how many of them one
// call gets.
const (
	messages = 20_000
	page     = 200
)

// fillCaches reads as much as the caches hold with so many readers at once, so that no
// growth of theirs looks like one of the swaps.
func fillCaches(ctx context.Context, g *gateway.Gateway, readers int) error {
	errs := make([]error, readers)
	var group sync.WaitGroup
	for n := range readers {
		group.Go(func() {
			for offset := 0; offset < messages/2 && errs[n] == nil; offset += page {
				_, errs[n] = g.Call(ctx, "sessions_history", fmt.Sprintf(`{"sessionKey": %q, "limit": %d, "offset": %d}`, storegen.LongKey, page, offset))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func start(ctx context.Context, dir string, connections int) (_ *gateway.Gateway, err error) {
	config, database := filepath.Join(dir, "parley.json5"), filepath.Join(dir, "parley.db")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, database, nil)
	if err != nil {
		return nil, err
	}
	_, err = storegen.Generate(ctx, db, &storegen.Options{Seed: 1, Sessions: 100, LongMessages: messages, Now: time.Now()})
	err = errors.Join(err, db.Load(ctx, func(b store.Batch) (err error) {
		for n := range targets {
			_, put := b.PutSession(&abi.Session{Key: target(n), SessionID: target(n), UpdatedAt: 1}, nil)
			err = errors.Join(err, put)
		}
		return err
	}), db.Close())
	if err != nil {
		return nil, err
	}
	program, err := gateway.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	// What is compiled is kept nowhere.
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "file"))); err != nil {
		return nil, err
	}
	return gateway.Start(ctx, program, database, config, connections)
}

// said is the end of what the plugin says of a session that does not exist; a build
// says its number instead.
const said = "shows the sessions that do"

// saying is what a build says, as long as said.
func saying(build int) string { return fmt.Sprintf("answers here is build %04d", build) }

// write writes the builds.
func write(dir string, builds int) (files []string, err error) {
	if !bytes.Contains(wasm.Parley, []byte(said)) {
		return nil, fmt.Errorf("the plugin does not say %q any more", said)
	}
	for n := range builds {
		file := filepath.Join(dir, fmt.Sprintf("build%d.wasm", n))
		err = errors.Join(err, os.WriteFile(file, bytes.ReplaceAll(wasm.Parley, []byte(said), []byte(saying(n))), 0o600))
		files = append(files, file)
	}
	return files, err
}

// swap swaps, and returns how much memory was resident after each swap, in MB, and
// how long each took.
func swap(ctx context.Context, g *gateway.Gateway, line *timeline, files []string, swaps int) (resident []float64, took []time.Duration, err error) {
	said := time.Now()
	for n := range swaps {
		build := n % len(files)
		module, digest, err := read(files[build])
		if err != nil {
			return nil, nil, err
		}
		begin := time.Now()
		line.begin(build)
		answer, err := g.Post(ctx, "/v1/plugins?digest="+url.QueryEscape(digest), "application/wasm", module)
		if err != nil {
			return nil, nil, fmt.Errorf("swap %d: %w", n+1, err)
		}
		line.end()
		took = append(took, time.Since(begin))
		if got := gjson.GetBytes(answer, "active.digest").Str; got != digest || gjson.GetBytes(answer, "same").Bool() {
			return nil, nil, fmt.Errorf("swap %d: %s is active, want %s: %s", n+1, got, digest, answer)
		}
		mb, err := g.Resident()
		if err != nil {
			return nil, nil, err
		}
		resident = append(resident, mb)
		if time.Since(said) > report {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d swaps, %.0f MB resident\n", n+1, swaps, mb)
		}
	}
	return resident, took, nil
}

func read(file string) (content []byte, digest string, err error) {
	content, err = os.ReadFile(file)
	return content, module.Digest(content), err
}

// grown compares the memory of the first swaps with that of the last.
func grown(resident []float64) error {
	if len(resident) < settled+window {
		fmt.Printf("resident memory at the end: %.0f MB; it is compared from %d swaps on\n", resident[len(resident)-1], settled+window)
		return nil
	}
	first, last := middle(resident[settled-window/2:settled+window/2]), middle(resident[len(resident)-window:])
	fmt.Printf("resident memory: %.0f MB after %d swaps, %.0f MB after %d: %+.0f MB, %.2f times as much\n", first, settled, last, len(resident), last-first, last/first)
	if last > first*growth {
		return fmt.Errorf("memory has grown from %.0f to %.0f MB", first, last)
	}
	return nil
}

func middle[T time.Duration | float64](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func sum(all []time.Duration) (total time.Duration) {
	for _, d := range all {
		total += d
	}
	return total
}
