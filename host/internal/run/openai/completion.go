package openai

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	openai "github.com/openai/openai-go/v3"

	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

const (
	maxTries   = 5 // for one completion
	firstPause = 500 * time.Millisecond
	// maxPause is how long an endpoint may ask to be left alone.
	maxPause = 2 * time.Minute
)

// failure is why a try did not give a completion.
type failure struct {
	text  string
	final bool          // another try would not help
	after time.Duration // the endpoint wants to be left alone for so long; 0: it did not say
}

func (f *failure) Error() string { return f.text }

func final(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), final: true}
}

func broken(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...)}
}

// complete returns the model's next message, after as many tries as it takes.
func (a *Agent) complete(ctx context.Context, p *prompt) (*conversation.Message, error) {
	pause := firstPause
	for try := 1; ; try++ {
		m, err := a.try(ctx, p)
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := a.asFailure(err)
		text := a.describe(f.text)
		if f.final {
			return nil, errors.New(text)
		}
		if try >= maxTries {
			return nil, fmt.Errorf("%s (try %d of %d)", text, try, try)
		}
		d := f.after
		if d == 0 {
			d = pause/2 + rand.N(pause/2)
			pause *= 2
		}
		if deadline, ok := ctx.Deadline(); d > maxPause || ok && time.Until(deadline) < d {
			return nil, fmt.Errorf("%s; the next try would have to wait for %s", text, d)
		}
		if err := a.wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// try asks the endpoint once.
func (a *Agent) try(ctx context.Context, p *prompt) (*conversation.Message, error) {
	stream := a.completions.NewStreaming(ctx, openai.ChatCompletionNewParams(*p))
	defer stream.Close()
	s := assembly{maxText: a.o.MaxOutputBytes}
	for stream.Next() {
		chunk := stream.Current()
		if err := s.add(&chunk); err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return s.message()
}

// asFailure tells what the SDK's errors mean. What is not known better, the
// connection's failures among them, is tried again.
func (a *Agent) asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if f := a.streamed(err); f != nil {
		return f
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which describe gives
	}
	return &failure{text: err.Error()}
}

// describe says which endpoint it was, and keeps the key out.
func (a *Agent) describe(text string) string {
	return runner.Conceal(a.endpoint+": "+runner.Text(text), a.o.APIKey)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
