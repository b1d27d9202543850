package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/tidwall/gjson"
)

// Token is the operator's token, which every Gateway accepts.
const Token = "e2e-token"

// Gateway is `parley serve` in a separate process. It can be started again after it was
// killed or stopped. The call methods are safe for concurrent use, also while the process
// is down.
type Gateway struct {
	Program  string // from Build
	Database string
	Config   string
	Cache    string    // the folder of compiled modules
	Log      io.Writer // nil: the log is added to the error if the gateway does not start

	mu  sync.Mutex
	url string
	cmd *exec.Cmd
}

// client keeps an idle connection for each client of the largest load.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// Build compiles the parley command into a folder.
func Build(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "parley")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/parley-wasm/parley/host/cmd/parley")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return program, nil
}

// Start starts the gateway and returns when it is ready to serve.
func (g *Gateway) Start(ctx context.Context) error {
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, g.Program, "serve", "--json", "--listen", "127.0.0.1:0", "--db", g.Database, "--config", g.Config)
	cmd.Env = append(os.Environ(), "PARLEY_TOKEN="+Token, "XDG_CACHE_HOME="+g.Cache)
	if cmd.Stderr = g.Log; g.Log == nil {
		cmd.Stderr = &log
	}
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
		_ = cmd.Process.Kill() // fails if the process has already ended
		return errors.Join(fmt.Errorf("serve printed no ready line: %w", err), cmd.Wait(), errors.New(log.String()))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.url, g.cmd = ready.URL, cmd
	return nil
}

// Kill ends the gateway with SIGKILL if it is running.
func (g *Gateway) Kill() error {
	if g.cmd == nil || g.cmd.ProcessState != nil {
		return nil
	}
	if err := g.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = g.cmd.Wait() // always fails after SIGKILL
	return nil
}

// Stop shuts the gateway down with SIGTERM and waits for its end.
func (g *Gateway) Stop() error {
	return errors.Join(g.cmd.Process.Signal(syscall.SIGTERM), g.cmd.Wait())
}

// Resident returns the gateway's resident memory in MB.
func (g *Gateway) Resident() (mb float64, err error) {
	n, err := Resident(g.cmd.Process.Pid)
	return float64(n) / (1 << 20), err
}

// Post sends a request as the operator. kind is the content type; id, unless it is empty,
// is the idempotency key.
func (g *Gateway) Post(ctx context.Context, path, kind, id string, body []byte) (status int, answer []byte, err error) {
	g.mu.Lock()
	url := g.url + path
	g.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+Token)
	req.Header.Set("Content-Type", kind)
	if id != "" {
		req.Header.Set("Idempotency-Key", id)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, errors.Join(err, resp.Body.Close())
}

// Request is a tool call over HTTP.
type Request struct {
	Tool       string          `json:"tool"`
	SessionKey string          `json:"sessionKey,omitempty"` // the caller's; empty: the operator is the caller
	Args       json.RawMessage `json:"args"`
}

const invoke = "/tools/invoke"

// Call makes one tool call and returns the body of its reply. It fails unless the status
// is 200.
func (g *Gateway) Call(ctx context.Context, tool, args string) ([]byte, error) {
	body, err := json.Marshal(&Request{Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		return nil, err
	}
	status, answer, err := g.Post(ctx, invoke, "application/json", "", body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %.400s", status, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", tool, args, err)
	}
	return answer, nil
}

// CallUntilAnswered makes a tool call and returns the tool's result. It repeats the call
// with the same id while the gateway is down, shutting down or still processing a call
// with this id.
func (g *Gateway) CallUntilAnswered(ctx context.Context, id string, r *Request) (gjson.Result, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return gjson.Result{}, err
	}
	for {
		status, answer, err := g.Post(ctx, invoke, "application/json", id, body)
		switch {
		case err != nil || status >= 500 || status == http.StatusConflict:
			if err := Pause(ctx); err != nil {
				return gjson.Result{}, err
			}
		case status != http.StatusOK:
			return gjson.Result{}, fmt.Errorf("%s: %s: status %d: %s", id, body, status, answer)
		default:
			return gjson.GetBytes(answer, "result.details"), nil
		}
	}
}
