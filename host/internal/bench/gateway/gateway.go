// Package gateway starts a gateway in a process of its own, and calls it as its
// clients do.
package gateway

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
	"strconv"
)

// Token is the operator's, as the configuration must have it.
const Token = "bench"

// Gateway is a process that serves. It is safe for concurrent use; who started it
// stops it.
type Gateway struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
}

// Build makes the program that serves, in a folder.
func Build(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "parley")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/parley-wasm/parley/host/cmd/parley")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return program, nil
}

// Start starts a program that Build made, for so many connections at once.
func Start(ctx context.Context, program, db, config string, connections int) (*Gateway, error) {
	g := &Gateway{
		cmd: exec.CommandContext(ctx, program, "serve", "--db", db, "--config", config, "--listen", "127.0.0.1:0", "--json"),
		client: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: connections,
		}},
	}
	g.cmd.Stderr = os.Stderr
	var err error
	if g.url, err = Launch(g.cmd); err != nil {
		return nil, err
	}
	return g, nil
}

// Launch starts a command that serves with --json, and returns the URL that it says
// when it is ready.
func Launch(cmd *exec.Cmd) (url string, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = cmd.Process.Kill() // if it has not ended by itself
		return "", errors.Join(fmt.Errorf("no ready line: %w", err), cmd.Wait())
	}
	return ready.URL, nil
}

// Stop ends it as an interrupt does.
func (g *Gateway) Stop() error {
	if err := g.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return g.cmd.Wait()
}

// Call makes one tool call as the operator and returns the answer's body, checked to
// be one.
func (g *Gateway) Call(ctx context.Context, tool, args string) ([]byte, error) {
	body, err := g.Post(ctx, "/tools/invoke", "application/json", fmt.Appendf(nil, `{"tool": %q, "args": %s}`, tool, args))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", tool, args, err)
	}
	return body, nil
}

// Post sends a body as the operator and returns the answer's, which has the status
// 200.
func (g *Gateway) Post(ctx context.Context, path, kind string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+Token)
	req.Header.Set("Content-Type", kind)
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("POST %s: %s: %.400s", path, resp.Status, text)
	}
	return text, nil
}

// Rows says how many sessions or messages a call answers.
func (g *Gateway) Rows(ctx context.Context, tool, args string) (int, error) {
	text, err := g.Call(ctx, tool, args)
	if err != nil {
		return 0, err
	}
	var v struct {
		Result struct {
			Details struct {
				Status, Error      string
				Sessions, Messages []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return 0, err
	}
	d := v.Result.Details
	if d.Status != "" {
		return 0, fmt.Errorf("%s %s: %s: %s", tool, args, d.Status, d.Error)
	}
	return len(d.Sessions) + len(d.Messages), nil
}

// Resident is the process's resident memory in MB, as the kernel counts it.
func (g *Gateway) Resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, ok := bytes.Cut(text, []byte("VmRSS:"))
	fields := bytes.Fields(after)
	if !ok || len(fields) == 0 {
		return 0, errors.New("/proc has no VmRSS")
	}
	kib, err := strconv.Atoi(string(fields[0]))
	return float64(kib) / 1024, err
}
