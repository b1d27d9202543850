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
	// maxPause is the longest pause between tries that an endpoint may request.
	maxPause = 2 * time.Minute
)

// failure is the error of a try.
type failure struct {
	text      string
	permanent bool          // a retry would not help
	after     time.Duration // pause that the endpoint requests; 0: none
}

func (f *failure) Error() string { return f.text }

func permanent(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), permanent: true}
}

func transient(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...)}
}

// complete returns the model's next message, with retries.
func (rn *Runner) complete(ctx context.Context, p *prompt) (*conversation.Message, error) {
	pause := firstPause
	for try := 1; ; try++ {
		m, err := rn.try(ctx, p)
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := rn.asFailure(err)
		text := rn.describe(f.text)
		if f.permanent {
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
		if err := rn.wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// try sends one request.
func (rn *Runner) try(ctx context.Context, p *prompt) (*conversation.Message, error) {
	stream := rn.completions.NewStreaming(ctx, openai.ChatCompletionNewParams(*p))
	defer stream.Close()
	s := assembly{maxText: rn.o.MaxOutputBytes}
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

// asFailure converts an error of the SDK. Unknown errors, such as connection
// failures, are retried.
func (rn *Runner) asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if f := rn.streamed(err); f != nil {
		return f
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which describe adds
	}
	return &failure{text: err.Error()}
}

// describe adds the endpoint to an error text and conceals the key.
func (rn *Runner) describe(text string) string {
	return runner.Conceal(rn.endpoint+": "+runner.Text(text), rn.o.APIKey)
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
