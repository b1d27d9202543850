package main

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
	"strconv"
	"strings"
)

// server is a gateway in a process of its own.
type server struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
}

func start(ctx context.Context, binary, db, config string) (*server, error) {
	s := &server{
		cmd: exec.CommandContext(ctx, binary, "serve", "--db", db, "--config", config, "--listen", "127.0.0.1:0", "--json"),
		client: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: connections,
		}},
	}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no ready line: %w", err), s.stop())
	}
	var ready struct{ Listening string }
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.url = "http://" + ready.Listening
	return s, nil
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// call makes one tool call and returns the answer's body, checked to be one.
func (s *server) call(ctx context.Context, tool, args string) ([]byte, error) {
	body := fmt.Sprintf(`{"tool": %q, "args": %s}`, tool, args)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/tools/invoke", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer bench")
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.200s", tool, args, resp.Status, text)
	}
	return text, nil
}

// rows says how many sessions or messages a call answers.
func (s *server) rows(ctx context.Context, tool, args string) (int, error) {
	text, err := s.call(ctx, tool, args)
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

// resident is the process's resident memory in MB, as the kernel counts it.
func (s *server) resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
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
