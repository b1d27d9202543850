// Package openai is the agent that asks an OpenAI-compatible endpoint for chat
// completions: a hosted one, Ollama, vLLM, llama.cpp.
//
// A turn is a loop of rounds. The model is given the prompt and the rounds so
// far, and either answers, which ends the turn, or calls tools, which begins the
// next round. A round is stored as package conversation says, so a later attempt
// goes on where the one before was cut off, and nothing is stored twice.
//
// One completion may take several tries: an endpoint that is busy, fails, or
// breaks off is asked again, from the start of that completion, after the time
// that it asks for or a growing pause. Nothing of an unfinished completion is
// used. What the endpoint refuses for good, and what exceeds a limit, fails the
// run at once.
//
// Nothing is read from the environment, but for a proxy's address as net/http
// does. The key goes to the configured endpoint alone and into no error.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

// Options say which endpoint is asked, and how. BaseURL is required.
type Options struct {
	BaseURL     string // such as http://127.0.0.1:11434/v1
	APIKey      string // empty: none is sent
	APIKeyUnset string // the environment variable that should hold the key, if it is not set: named when the endpoint wants one
	Model       string // for turns that name none

	HistoryMessages int // how much of the transcript a prompt carries: 50; below 0: none of it
	HistoryBytes    int // 256 KiB

	MaxOutputBytes   int // of an answer, thinking included: 1 MiB
	MaxResponseBytes int // of one response of the endpoint: 16 MiB

	Client *http.Client // nil: http.DefaultClient
}

// maxRounds is how often in a row the model may call tools in a run.
const maxRounds = 20

// Agent asks an endpoint.
type Agent struct {
	o           Options
	endpoint    string // for people
	completions openai.ChatCompletionService
	wait        func(ctx context.Context, d time.Duration) error
}

var _ runner.Runner = (*Agent)(nil)

// New returns the agent. It does not contact the endpoint.
func New(o *Options) (*Agent, error) {
	if o == nil {
		o = &Options{}
	}
	a := &Agent{o: *o, wait: wait}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("openai: baseUrl is not an address of an endpoint; give one such as http://127.0.0.1:11434/v1")
	}
	a.endpoint = u.Redacted()
	for _, d := range []struct {
		of    *int
		value int
	}{
		{&a.o.HistoryMessages, 50},
		{&a.o.HistoryBytes, 256 << 10},
		{&a.o.MaxOutputBytes, 1 << 20},
		{&a.o.MaxResponseBytes, 16 << 20},
	} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
	// The service, unlike the SDK's client, takes nothing from the environment.
	options := []option.RequestOption{
		option.WithBaseURL(o.BaseURL),
		option.WithMaxRetries(0),
		option.WithMiddleware(a.inspect),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	if o.Client != nil {
		options = append(options, option.WithHTTPClient(o.Client))
	}
	a.completions = openai.NewChatCompletionService(options...)
	return a, nil
}

// Run implements runner.Runner.
func (a *Agent) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	out, err := a.run(ctx, t)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, fmt.Errorf("openai: %w", err)
	}
}

func (a *Agent) run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	prompt, err := a.prompt(ctx, t)
	if err != nil {
		return nil, err
	}
	run, err := conversation.Resume(ctx, t)
	if err != nil {
		return nil, err
	}
	var total abi.Usage
	for _, r := range run.Rounds {
		add(&total, r.Usage)
		if err := run.Finish(ctx, r); err != nil {
			return nil, err
		}
		prompt.add(r)
	}
	for {
		m, err := a.complete(ctx, prompt)
		if err != nil {
			return nil, err
		}
		add(&total, m.Usage)
		if len(m.Calls) == 0 {
			return &runner.Outcome{Text: m.Text, Model: m.Model, Usage: known(&total)}, nil
		}
		if n := len(run.Rounds); n >= maxRounds {
			return nil, fmt.Errorf("the model called tools %d times in a row without an answer", n)
		}
		r, err := run.Begin(ctx, *m)
		if err != nil {
			return nil, err
		}
		if err := run.Finish(ctx, r); err != nil {
			return nil, err
		}
		prompt.add(r)
	}
}

// add adds what is known of u.
func add(total, u *abi.Usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		to   **int64
		from *int64
	}{{&total.Input, u.Input}, {&total.Output, u.Output}, {&total.Total, u.Total}} {
		if c.from == nil {
			continue
		}
		sum := *c.from
		if *c.to != nil {
			sum += **c.to
		}
		*c.to = &sum
	}
}

// known returns u, or nil if nothing is known.
func known(u *abi.Usage) *abi.Usage {
	if *u == (abi.Usage{}) {
		return nil
	}
	return u
}
