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
	maxErrorText = 500 // bytes of the body that an error shows
)

// inspect is the middleware between the SDK and the endpoint. It converts a response
// that is not a stream of chunks to a failure, and bounds a stream.
func (rn *Runner) inspect(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, rn.refused(res)
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json", "text/html":
		res.Body.Close()
		return nil, permanent("answered with %s instead of a stream; is it the address of an OpenAI-compatible endpoint that streams?", kind)
	}
	res.Body = &bounded{ReadCloser: res.Body, left: rn.o.MaxResponseBytes, max: rn.o.MaxResponseBytes}
	return res, nil
}

// refused returns the failure for a response with a status other than 200.
func (rn *Runner) refused(res *http.Response) *failure {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	f := &failure{
		text:      strings.TrimSpace(fmt.Sprintf("%d %s: %s", res.StatusCode, http.StatusText(res.StatusCode), rn.errorText(body))),
		permanent: !retryable(res.StatusCode),
		after:     retryAfter(res.Header),
	}
	unauthorized := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	if unauthorized && rn.o.APIKeyUnset != "" {
		f.text += "; the environment variable " + rn.o.APIKeyUnset + ", which should hold the key, is not set"
	}
	return f
}

func retryable(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// errorText returns the message in the body of an error, whose position differs among
// endpoints. It conceals the key before it truncates the text, so that no part of the
// key remains.
func (rn *Runner) errorText(body []byte) string {
	text := string(body)
	if gjson.ValidBytes(body) {
		for _, path := range []string{"error.message", "error", "message", "detail"} {
			if r := gjson.GetBytes(body, path); r.Type == gjson.String && r.Str != "" {
				text = r.Str
				break
			}
		}
	}
	text = strings.Join(strings.Fields(runner.Text(runner.Conceal(text, rn.o.APIKey))), " ")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + " …"
	}
	return text
}

// retryAfter returns the pause that the endpoint requests, or 0.
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

// seconds converts s to a Duration, bounded by the range of that type.
func seconds(s float64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(min(s, century) * float64(time.Second))
}

// streamed returns the failure that an endpoint reported within a stream, or nil.
func (rn *Runner) streamed(err error) *failure {
	var s *ssestream.StreamError
	if !errors.As(err, &s) {
		return nil
	}
	status := int(gjson.GetBytes(s.Event.Data, "error.code").Int())
	return &failure{
		text:      "reported during its answer: " + rn.errorText(s.Event.Data),
		permanent: status >= 400 && status < 500 && !retryable(status),
	}
}

// bounded is a response body whose Read fails at the limit.
type bounded struct {
	io.ReadCloser
	left, max int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, permanent("its response is longer than %d bytes", b.max)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
