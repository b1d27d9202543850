package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

const (
	clients     = 8
	targets     = 40
	maxAttempts = 10 // of a run that is killed again and again
	token       = "crash-token"
)

// random kills a gateway under load at random moments, so many times, and starts
// it again at once. Clients send until then, each call until it has an answer.
func random(ctx context.Context, dir string, kills int, t *tally) error {
	o := newOutside(15 * time.Millisecond)
	defer o.server.Close()
	p := &place{dir: filepath.Join(dir, "random"), receiver: "webhook", agent: "ops"}
	if err := p.make(ctx, o, targets, maxAttempts); err != nil {
		return err
	}
	program := filepath.Join(dir, "parley")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/parley-wasm/parley/host/cmd/parley").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	g := &gateway{program: program, place: p}
	stop := make(chan struct{})
	var sent atomic.Int64
	var wg sync.WaitGroup
	failures := make(chan error, clients)
	for c := range clients {
		wg.Go(func() {
			if err := g.send(ctx, c, &sent, stop); err != nil {
				failures <- err
			}
		})
	}
	start := time.Now()
	for n := range kills {
		if err := g.start(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(time.Duration(rand.ExpFloat64() * float64(60*time.Millisecond))):
		case err := <-failures:
			return errors.Join(err, g.kill())
		}
		if err := g.kill(); err != nil {
			return err
		}
		if n%50 == 49 {
			fmt.Printf("  %d kills, %d messages accepted, %s\n", n+1, sent.Load(), time.Since(start).Round(time.Second))
		}
	}
	if err := g.start(ctx); err != nil {
		return err
	}
	close(stop)
	wg.Wait()
	close(failures)
	err := errors.Join(<-failures, g.settle(ctx), g.end())
	if err != nil {
		return err
	}
	if err := t.verifyAll(ctx, p, o, int(sent.Load())); err != nil {
		return err
	}
	if t.repeats > 0 {
		t.fail("random: %d messages were seen twice", t.repeats)
	}
	if kills >= 100 && t.attempts == 0 {
		t.fail("random: none of %d kills fell into a run", kills)
	}
	fmt.Printf("%d random kills in %s: %d messages accepted, %d further attempts, %d runs interrupted for good, %d posted again, %d seen twice, %d problems\n",
		kills, time.Since(start).Round(time.Second), t.exchanges, t.attempts, t.interrupted, t.reposts, t.repeats, len(t.problems))
	return nil
}

// verifyAll verifies every flow, and that there are as many as clients were told
// of. A client may have been cut off in its last call, never in an accepted one.
func (t *tally) verifyAll(ctx context.Context, p *place, o *outside, accepted int) (err error) {
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	all, err := everything(ctx, db)
	if err != nil {
		return err
	}
	t.final(all)
	if len(all.Flows) != accepted {
		t.fail("%d flows, but %d calls were answered", len(all.Flows), accepted)
	}
	for _, f := range all.Flows {
		if err := t.verifyFlow(ctx, db, f, o, p.receiver, "#"+f.Call.ID+"#", maxAttempts); err != nil {
			return err
		}
	}
	return nil
}

// gateway is a process that serves, and dies.
type gateway struct {
	program string
	place   *place

	mu  sync.Mutex
	url string
	cmd *exec.Cmd
	log bytes.Buffer
}

func (g *gateway) start(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, g.program, "serve", "--json", "--listen", "127.0.0.1:0",
		"--db", g.place.database(), "--config", g.place.config())
	cmd.Env = append(os.Environ(), "PARLEY_TOKEN="+token, "XDG_CACHE_HOME="+g.place.cache())
	g.log.Reset()
	cmd.Stderr = &g.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = cmd.Wait()
		return fmt.Errorf("serve: %w: %s", err, g.log.Bytes())
	}
	g.mu.Lock()
	g.url, g.cmd = ready.URL, cmd
	g.mu.Unlock()
	return nil
}

func (g *gateway) kill() error {
	if err := g.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = g.cmd.Wait() // it was killed
	return nil
}

func (g *gateway) end() error {
	return errors.Join(g.cmd.Process.Signal(syscall.SIGTERM), g.cmd.Wait())
}

func (g *gateway) address() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.url
}

// send sends messages one after the other, each until it has an answer.
func (g *gateway) send(ctx context.Context, client int, sent *atomic.Int64, stop <-chan struct{}) error {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		id := fmt.Sprintf("c%d-%d", client, n)
		body := fmt.Sprintf(`{"tool":"sessions_send","sessionKey":%q,"args":{"sessionKey":%q,"message":"m #%s#","timeoutSeconds":30}}`,
			requester, g.place.target(rand.IntN(targets)), id)
		for {
			status, answer, err := g.post(ctx, id, body)
			if err == nil && status == http.StatusOK {
				if s := gjson.GetBytes(answer, "result.details.status").Str; s != "ok" && s != "timeout" && s != "error" {
					return fmt.Errorf("%s was answered %s", id, answer)
				}
				sent.Add(1)
				break
			}
			if err == nil && status < 500 && status != http.StatusConflict {
				return fmt.Errorf("%s was answered %d: %s", id, status, answer)
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (g *gateway) post(ctx context.Context, id, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.address()+"/tools/invoke", bytes.NewBufferString(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Idempotency-Key", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// settle waits until no flow is open and no delivery on its way.
func (g *gateway) settle(ctx context.Context) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var open int
		for _, what := range []string{"flows", "deliveries"} {
			out, err := exec.CommandContext(ctx, g.program, what, "--json", "--db", g.place.database(), "--config", g.place.config(), "--limit", "100000").Output()
			if err != nil {
				return fmt.Errorf("parley %s: %w", what, err)
			}
			for _, row := range gjson.GetBytes(out, what).Array() {
				if s := row.Get("status").Str; s == store.FlowWaiting || s == store.DeliveryPending {
					open++
				}
			}
		}
		if open == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d flows or deliveries are still open", open)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
