// Package openai implements the runner that requests chat completions from an
// OpenAI-compatible endpoint: a hosted one, Ollama, vLLM, llama.cpp.
//
// A turn is a loop of rounds. The model gets the prompt and the rounds so far. It
// either answers, which ends the turn, or calls tools, which begins the next round.
// Rounds are stored as package conversation describes, so a later attempt resumes an
// interrupted turn, and no message is stored twice.
//
// A completion may take several tries: if the endpoint is busy, fails, or breaks off,
// the runner repeats the request after the time that the endpoint asks for or after a
// growing pause. An unfinished completion is discarded. A permanent refusal of the
// endpoint, or an exceeded limit, fails the run at once.
//
// The runner reads nothing from the environment except a proxy's address, as net/http
// does. It sends the key only to the configured endpoint and conceals it in errors.
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

// Options configures the endpoint and the requests. BaseURL is required.
type Options struct {
	BaseURL     string // such as http://127.0.0.1:11434/v1
	APIKey      string // empty: no key is sent
	APIKeyUnset string // name of the environment variable that should hold the key but is not set; shown if the endpoint answers 401 or 403
	Model       string // for turns that name no model

	HistoryMessages int // messages of the transcript in a prompt; 0: 50; negative: none
	HistoryBytes    int // 0: 256 KiB

	MaxOutputBytes   int // of an answer, thinking included; 0: 1 MiB
	MaxResponseBytes int // of one response of the endpoint; 0: 16 MiB

	Client *http.Client // nil: http.DefaultClient
}

// maxRounds is the maximum number of consecutive rounds of tool calls in a run.
const maxRounds = 20

// Runner requests completions from an endpoint.
type Runner struct {
	o           Options
	endpoint    string // for error texts
	completions openai.ChatCompletionService
	wait        func(ctx context.Context, d time.Duration) error
}

var _ runner.Runner = (*Runner)(nil)

// New returns a runner. It does not contact the endpoint.
func New(o *Options) (*Runner, error) {
	if o == nil {
		o = &Options{}
	}
	rn := &Runner{o: *o, wait: wait}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("openai: baseUrl is not an address of an endpoint; give one such as http://127.0.0.1:11434/v1")
	}
	rn.endpoint = u.Redacted()
	for _, d := range []struct {
		of    *int
		value int
	}{
		{&rn.o.HistoryMessages, 50},
		{&rn.o.HistoryBytes, 256 << 10},
		{&rn.o.MaxOutputBytes, 1 << 20},
		{&rn.o.MaxResponseBytes, 16 << 20},
	} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
	// Unlike the SDK's client, the service reads nothing from the environment.
	options := []option.RequestOption{
		option.WithBaseURL(o.BaseURL),
		option.WithMaxRetries(0),
		option.WithMiddleware(rn.inspect),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	if o.Client != nil {
		options = append(options, option.WithHTTPClient(o.Client))
	}
	rn.completions = openai.NewChatCompletionService(options...)
	return rn, nil
}

// Run implements runner.Runner.
func (rn *Runner) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	out, err := rn.run(ctx, t)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, fmt.Errorf("openai: %w", err)
	}
}

func (rn *Runner) run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	prompt, err := rn.prompt(ctx, t)
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
		m, err := rn.complete(ctx, prompt)
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

// add adds the known counts of u to total.
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

// known returns u, or nil if no count is known.
func known(u *abi.Usage) *abi.Usage {
	if *u == (abi.Usage{}) {
		return nil
	}
	return u
}
