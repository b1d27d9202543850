package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/run/openai"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// Transient failures are retried and have no effect on the answer or the transcript.
func TestTransientFailures(t *testing.T) {
	for name, failing := range map[string]reply{
		"429":              status(429, "Retry-After: 7", `{"error":{"message":"slow down"}}`),
		"500":              status(500, "", "<html>oops</html>"),
		"503":              status(503, "", ""),
		"reset":            reset(),
		"resetBeforeReply": func(http.ResponseWriter, *http.Request, gjson.Result) { panic(http.ErrAbortHandler) },
		"resetInText":      reset(text("half an ans")),
		"resetInCall":      reset(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"n"}}`)),
		"endsInText":       events(text("half an ans")),
		"garbage":          events(text("half"), "}{ not json"),
		"garbageLines":     events("\x00\xff\xfe\nfoo\nbar: baz"),
		"nothing":          events(),
		"errorInStream":    events(text("half"), `{"error":{"message":"overloaded","code":503}}`),
		"textErrorStream":  events(`{"error":"CUDA out of memory"}`),
		"namelessCall":     events(call(`{"index":0,"id":"a","function":{"arguments":"{}"}}`), endTools),
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, failing, failing, answer("fine"))
			a, pauses := open(t, e, openai.Options{})
			s := runnertest.NewSession()
			if out := run(t, a, s.Turn("hello")); out.Text != "fine" || len(s.Roles()) != 0 {
				t.Errorf("answer %q, stored %v", out.Text, s.Roles())
			}
			asked := e.requests()
			if len(asked) != 3 || asked[0].Raw != asked[2].Raw {
				t.Errorf("asked %v, want the same three times", asked)
			}
			p := *pauses
			switch {
			case len(p) != 2:
				t.Errorf("pauses %v", p)
			case name == "429" && (p[0] != 7*time.Second || p[1] != 7*time.Second):
				t.Errorf("pauses %v, want those of Retry-After", p)
			case name != "429" && (p[0] < 250*time.Millisecond || p[0] > 500*time.Millisecond || p[1] < 500*time.Millisecond || p[1] > time.Second):
				t.Errorf("pauses %v, want growing ones", p)
			}
		})
	}
}

// A permanent failure, or a request for a long pause, fails the run with the endpoint's text.
func TestPermanentFailures(t *testing.T) {
	for name, test := range map[string]struct {
		reply reply
		want  string
	}{
		"400":           {status(400, "", `{"error":{"message":"no such model: small"}}`), "400 Bad Request: no such model: small"},
		"404":           {status(404, "", `{"error":"model not found"}`), "404 Not Found: model not found"},
		"422":           {status(422, "", `{"detail":"bad"}`), "422 Unprocessable Entity: bad"},
		"html":          {status(403, "", "<html>\n\tno\n</html>"), "403 Forbidden: <html> no </html>"},
		"redirect":      {status(304, "", ""), "304 Not Modified"},
		"json":          {status(200, "Content-Type: application/json", `{"choices":[]}`), "application/json instead of a stream"},
		"errorInStream": {events(`{"error":{"message":"context is full","code":400}}`), "context is full"},
		"filter":        {events(text("half"), `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`), "content filter"},
		"lengthNothing": {events(text("<think>hm"), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`), "limit of tokens before"},
		"lengthCall":    {events(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{"}}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`), "limit of tokens in the middle of a tool call"},
		"later":         {status(429, "Retry-After: 3600", `{"error":{"message":"quota"}}`), "quota; the next try would have to wait for 1h0m0s"},
		"muchLater":     {status(429, "Retry-After: 1e300", `{"error":{"message":"quota"}}`), "quota"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, test.reply)
			a, pauses := open(t, e, openai.Options{})
			wantError(t, a, e.url, test.want)
			if len(e.requests()) != 1 || len(*pauses) != 0 {
				t.Errorf("asked %d times, pauses %v", len(e.requests()), *pauses)
			}
		})
	}
}

func TestMaxTries(t *testing.T) {
	e := serve(t, status(502, "", "bad gateway"))
	a, pauses := open(t, e, openai.Options{})
	wantError(t, a, "502 Bad Gateway: bad gateway (try 5 of 5)")
	if len(e.requests()) != 5 || len(*pauses) != 4 {
		t.Errorf("asked %d times, pauses %v", len(e.requests()), *pauses)
	}
}

// Tries are counted for each completion of a run.
func TestTriesPerCompletion(t *testing.T) {
	fail := status(500, "", "")
	e := serve(t, fail, fail, fail, events(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}`), endTools), fail, fail, fail, answer("fine"))
	a, _ := open(t, e, openai.Options{})
	s := runnertest.NewSession()
	if out := run(t, a, s.Turn("hello")); out.Text != "fine" || len(s.Calls()) != 1 {
		t.Errorf("%+v, calls %v", out, s.Calls())
	}
}

func TestConnectionRefused(t *testing.T) {
	a, _ := open(t, &endpoint{url: "http://127.0.0.1:1/v1"}, openai.Options{})
	wantError(t, a, "http://127.0.0.1:1/v1: ", "connect", "(try 5 of 5)")
}

func TestLimits(t *testing.T) {
	endless := func(chunk string) reply {
		return func(w http.ResponseWriter, r *http.Request, _ gjson.Result) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, chunk); err != nil {
					return
				}
			}
		}
	}
	for name, test := range map[string]struct {
		reply reply
		want  string
	}{
		"text":     {endless("data: " + text("again and again ") + "\n\n"), "the answer is longer than 5000 bytes"},
		"thinking": {endless(`data: {"choices":[{"index":0,"delta":{"reasoning":"hm"}}]}` + "\n\n"), "its response is longer than 100000 bytes"},
		"comments": {endless(": ping\n\n"), "its response is longer than 100000 bytes"},
		"line":     {endless("data: never ending "), "its response is longer than 100000 bytes"},
		"calls":    {endless("data: " + call(`{"index":0,"id":"a","function":{"name":"a"}}`, `{"index":0,"id":"b","function":{"name":"a"}}`) + "\n\n"), "more than 128 tools"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, test.reply)
			a, _ := open(t, e, openai.Options{MaxOutputBytes: 5000, MaxResponseBytes: 100000})
			wantError(t, a, test.want)
			if n := len(e.requests()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// Errors conceal the key, whatever the endpoint replies.
func TestKeyIsNotShown(t *testing.T) {
	const key = "sk-very-secret"
	for _, reply := range []reply{
		status(401, "", `{"error":{"message":"Incorrect API key provided: `+key+`"}}`),
		status(500, "", key),
		status(500, "", strings.Repeat("x", 490)+key), // at the limit of error texts
		events(`{"error":{"message":"` + key + `"}}`),
	} {
		a, _ := open(t, serve(t, reply), openai.Options{APIKey: key})
		_, err := a.Run(t.Context(), runnertest.NewSession().Turn("hello"))
		if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "[secret]") {
			t.Errorf("%v", err)
		}
	}
}

func TestKeyIsMissing(t *testing.T) {
	e := serve(t, status(401, "", `{"error":{"message":"who are you?"}}`))
	a, _ := open(t, e, openai.Options{APIKeyUnset: "MY_KEY"})
	wantError(t, a, "401 Unauthorized: who are you?; the environment variable MY_KEY, which should hold the key, is not set")
	if got := e.headers[0].Values("Authorization"); len(got) != 0 {
		t.Errorf("Authorization %q without a key", got)
	}
}

// The end of ctx ends a pause. A pause that would exceed ctx's deadline is not begun.
func TestContextInPause(t *testing.T) {
	e := serve(t, status(503, "Retry-After: 60", ""))
	a, _ := open(t, e, openai.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	a.SetWait(func(ctx context.Context, _ time.Duration) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := a.Run(ctx, runnertest.NewSession().Turn("hello")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	if _, err := a.Run(ctx, runnertest.NewSession().Turn("hello")); err == nil || !strings.Contains(err.Error(), "wait for 1m0s") {
		t.Error(err)
	}
}
