package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	server "github.com/parley-wasm/parley/host/internal/bench/gateway"
	"github.com/parley-wasm/parley/host/store"
)

// token is the operator's.
const token = "crash-token"

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
	url, err := server.Launch(cmd)
	if err != nil {
		return fmt.Errorf("serve: %w: %s", err, g.log.Bytes())
	}
	g.mu.Lock()
	g.url, g.cmd = url, cmd
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

func (g *gateway) post(ctx context.Context, id string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.address()+"/tools/invoke", bytes.NewReader(body))
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

// settle waits until no flow has anything to do but at a time to come, and no
// delivery is on its way.
func (g *gateway) settle(ctx context.Context) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		open, err := g.open(ctx)
		switch {
		case err != nil:
			return err
		case open == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d flows or deliveries are still open", open)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open returns how much is to be done.
func (g *gateway) open(ctx context.Context) (n int, err error) {
	var listed struct {
		Flows      []*store.Flow
		Deliveries []*store.Delivery
	}
	for _, what := range []string{"flows", "deliveries"} {
		out, err := exec.CommandContext(ctx, g.program, what, "--json", "--db", g.place.database(), "--config", g.place.config(), "--limit", "100000").Output()
		if err == nil {
			err = json.Unmarshal(out, &listed)
		}
		if err != nil {
			return 0, fmt.Errorf("parley %s: %w", what, err)
		}
	}
	for _, f := range listed.Flows {
		if f.Status == store.FlowWaiting && !f.Resting() {
			n++
		}
	}
	for _, d := range listed.Deliveries {
		if d.Status == store.DeliveryPending {
			n++
		}
	}
	return n, nil
}
