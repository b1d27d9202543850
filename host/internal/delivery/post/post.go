// Package post executes the HTTP requests of sinks. It limits their time and size, does
// not follow redirects, and keeps secrets out of errors.
package post

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/sink"
)

// Limits of a request. The context's deadline applies too.
const (
	connectTimeout = 10 * time.Second
	timeout        = 60 * time.Second
	maxBody        = 4 << 20 // of an answer, in bytes; the rest is not read. Some services return the message twice.
	maxExcerpt     = 300     // of an answer in an error, in characters
)

// Client posts JSON to one service. It is safe for concurrent use.
type Client struct {
	service string
	http    http.Client
	secrets []string
}

// NewClient returns a client for a service. Its errors begin with the service's name,
// and never contain one of the secrets, even if the service repeats it. transport may
// be nil.
func NewClient(service string, transport http.RoundTripper, secrets ...string) *Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout: connectTimeout,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     time.Minute,
		}
	}
	c := &Client{service: service, http: http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, s := range secrets {
		if s != "" {
			c.secrets = append(c.secrets, s, url.PathEscape(s), url.QueryEscape(s))
		}
	}
	return c
}

// Answer is the service's HTTP response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // the first 4 MiB
}

// OK reports whether the status is 2xx.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// JSON decodes the body into v, and reports whether that succeeded.
func (a *Answer) JSON(v any) bool { return json.Unmarshal(a.Body, v) == nil }

// JSON posts a JSON body. It fails with a temporary error when there is no answer, and
// with a permanent one when the answer is a redirect. Redirects are not followed: the
// secrets are meant for the configured address, and a POST would become a GET.
func (c *Client) JSON(ctx context.Context, address string, header http.Header, body []byte) (*Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, &sink.Permanent{Err: c.Errorf("the address of the request is malformed")}
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		return nil, &sink.Permanent{Err: c.Errorf("answered %d, a redirect%s: redirects are not followed; configure the final address", answer.StatusCode, hostOf(answer))}
	}
	// An incomplete body is not an error, because the status is known.
	read, _ := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	return &Answer{Status: answer.StatusCode, Header: answer.Header, Body: read}, nil
}

// hostOf returns the host of a redirect's target, without its path and query, which may
// contain secrets.
func hostOf(r *http.Response) string {
	if to, err := r.Location(); err == nil && to.Host != "" {
		return " to " + to.Host
	}
	return ""
}

// failure returns the error for a request without an answer. It omits the address,
// which err contains, because the address may contain a secret.
func (c *Client) failure(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if ended := ctx.Err(); ended != nil {
		err = ended
	}
	return &masked{text: c.service + ": no answer: " + c.mask(err.Error()), cause: err}
}

// Errorf returns an error that begins with the service's name, with secrets masked.
func (c *Client) Errorf(format string, args ...any) error {
	return errors.New(c.service + ": " + c.mask(fmt.Sprintf(format, args...)))
}

// Excerpt returns the beginning of an answer's body for an error text.
func (c *Client) Excerpt(a *Answer) string {
	if text := c.Clip(string(a.Body)); text != "" {
		return text
	}
	return "an empty answer"
}

// Clip prepares a service's text for an error: on one line, and truncated. It masks
// secrets first, so that truncation cannot leave a part of one.
func (c *Client) Clip(text string) string {
	text = strings.Join(strings.Fields(c.mask(text)), " ")
	if r := []rune(text); len(r) > maxExcerpt {
		text = string(r[:maxExcerpt]) + "…"
	}
	return text
}

func (c *Client) mask(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// masked is an error whose text contains no secret. Its cause is only for errors.Is and
// errors.As: the text of the cause must not be shown.
type masked struct {
	text  string
	cause error
}

func (e *masked) Error() string { return e.text }
func (e *masked) Unwrap() error { return e.cause }
