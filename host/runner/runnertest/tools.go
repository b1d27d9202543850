package runnertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
)

// Token is the token that a turn's Access returns after Serve.
const Token = "token-of-this-attempt"

// access contains the address at which programs call the tools.
type access struct{ url string }

type tools struct {
	s     *Session
	run   string
	calls map[string]int // calls in this attempt, by tool and arguments
}

var _ runner.Tools = (*tools)(nil)

func (x *tools) List() []abi.Tool { return Tools }

func (x *tools) Access() (url, token string) {
	if x.s.access.url == "" {
		return "", ""
	}
	return x.s.access.url + "/" + x.run, Token
}

// Call executes each call once: the n-th call of an attempt with given arguments gets
// the answer of the n-th such call of an earlier attempt.
func (x *tools) Call(ctx context.Context, tool string, args json.RawMessage) (*runner.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !json.Valid(args) {
		return nil, fmt.Errorf("runnertest: arguments of %s are not JSON: %s", tool, args)
	}
	s := x.s
	s.mu.Lock()
	what := tool + canonical(args)
	x.calls[what]++
	id := fmt.Sprintf("%s/%s/%d", x.run, what, x.calls[what])
	c := s.find(id)
	if c != nil && c.answer != nil {
		s.mu.Unlock()
		return c.answer, nil
	}
	if c == nil {
		c = &ToolCall{Tool: tool, Args: bytes.Clone(args), id: id}
		s.calls = append(s.calls, c)
	}
	s.mu.Unlock()

	if s.OnCall != nil {
		if err := s.OnCall(ctx, c); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	c.answer = &runner.Answer{Result: json.RawMessage("{}")}
	if next := s.answers[tool]; len(next) > 0 {
		c.answer, s.answers[tool] = next[0], next[1:]
	}
	s.mu.Unlock()
	if s.OnAnswer != nil {
		if err := s.OnAnswer(ctx, c); err != nil {
			return nil, err
		}
	}
	return c.answer, nil
}

func (s *Session) find(id string) *ToolCall {
	for _, c := range s.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Serve serves the tools to programs and gives later turns the address: POST /<tool>
// with the arguments as the body and the token as a bearer token. The response body
// is the tool's result.
func (s *Session) Serve(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{run}/{tool}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+Token {
			http.Error(w, "invalid token", http.StatusUnauthorized)
			return
		}
		args, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		// Programs of the tests make one call per attempt, so every call is the first.
		x := &tools{s: s, run: r.PathValue("run"), calls: make(map[string]int)}
		answer, err := x.Call(r.Context(), r.PathValue("tool"), args)
		switch {
		case errors.Is(err, context.Canceled):
			// The test simulates a host that dies: it sends no response.
			<-r.Context().Done()
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			_, _ = w.Write(answer.Result)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.access.url = server.URL
}
