package openai

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/runner"
)

const (
	maxErrorBody = 64 << 10
	maxErrorText = 500 // bytes of it that are shown
)

// inspect stands between the SDK and the endpoint: a response that is not a
// stream of chunks becomes a failure here, and a stream is bounded.
func (a *Agent) inspect(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, a.refused(res)
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json", "text/html":
		res.Body.Close()
		return nil, final("answered with %s where a stream was asked for; is it the address of an OpenAI-compatible endpoint that streams?", kind)
	}
	res.Body = &bounded{ReadCloser: res.Body, left: a.o.MaxResponseBytes, max: a.o.MaxResponseBytes}
	return res, nil
}

// refused is the failure of a response with a status other than 200.
func (a *Agent) refused(res *http.Response) *failure {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	f := &failure{
		text:  strings.TrimSpace(fmt.Sprintf("%d %s: %s", res.StatusCode, http.StatusText(res.StatusCode), a.errorText(body))),
		final: !retryable(res.StatusCode),
		after: retryAfter(res.Header),
	}
	unauthorized := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	if unauthorized && a.o.APIKeyUnset != "" {
		f.text += "; the environment variable " + a.o.APIKeyUnset + ", which should hold the key, is not set"
	}
	return f
}

func retryable(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// errorText finds the message in an error's body: endpoints disagree where it is.
// The key is concealed before the text is cut, which might leave a part of it.
func (a *Agent) errorText(body []byte) string {
	text := string(body)
	if gjson.ValidBytes(body) {
		for _, path := range []string{"error.message", "error", "message", "detail"} {
			if r := gjson.GetBytes(body, path); r.Type == gjson.String && r.Str != "" {
				text = r.Str
				break
			}
		}
	}
	text = strings.Join(strings.Fields(runner.Text(runner.Conceal(text, a.o.APIKey))), " ")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + " …"
	}
	return text
}

// retryAfter returns how long the endpoint wants to be left alone, or 0.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// seconds is bounded by what a Duration holds.
func seconds(s float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(min(s, century) * float64(time.Second))
}

// streamed is the failure that an endpoint reported in the middle of a stream,
// or nil.
func (a *Agent) streamed(err error) *failure {
	var s *ssestream.StreamError
	if !errors.As(err, &s) {
		return nil
	}
	status := int(gjson.GetBytes(s.Event.Data, "error.code").Int())
	return &failure{
		text:  "reported while it was answering: " + a.errorText(s.Event.Data),
		final: status >= 400 && status < 500 && !retryable(status),
	}
}

// bounded ends a response that is too long.
type bounded struct {
	io.ReadCloser
	left, max int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, final("its response is longer than %d bytes", b.max)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
