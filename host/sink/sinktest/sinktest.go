// Package sinktest is a test suite for sinks that use HTTP. It tests which errors are
// permanent, that Retry-After is respected, that no response makes a sink hang or use
// unbounded memory, and that no error contains a secret.
package sinktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/sink"
)

// Subject is a sink under test.
type Subject struct {
	// New returns a sink that posts to the service at this address.
	New func(t testing.TB, baseURL string) sink.Sink
	// Accept responds as the service does when it accepts a message.
	Accept http.HandlerFunc
	// Target is a destination to post to.
	Target abi.Target
	// Secrets must not occur in errors. May be empty.
	Secrets []string
	// Key returns the part of a request by which the service recognizes a message that
	// it has accepted before. nil: the service does not recognize such messages.
	Key func(h http.Header, body []byte) string
	// StatusDecides is set if any response with a success status is a success.
	StatusDecides bool
}

// Message returns a message to the subject's target.
func (s *Subject) Message(key string) *sink.Message {
	return &sink.Message{IdempotencyKey: key, Target: s.Target, Text: "Guten Tag,\n<all> & sundry", SessionKey: "agent:main:main", RunID: "run-1"}
}

// Kind classifies a sink's error: "posted" (nil), "permanent", "later" with its time,
// or "temporary" (to be retried with backoff).
func Kind(err error) string {
	var permanent *sink.Permanent
	var later *sink.Later
	switch {
	case err == nil:
		return "posted"
	case errors.As(err, &permanent):
		return "permanent"
	case errors.As(err, &later):
		return "later " + later.After.String()
	}
	return "temporary"
}

// Expect posts a message to a service with this handler and compares the error's Kind
// with want. It returns the error's text.
func (s *Subject) Expect(t testing.TB, handler http.HandlerFunc, want string) string {
	t.Helper()
	err := s.New(t, Serve(t, handler).URL).Post(t.Context(), s.Message("key"))
	if got := Kind(err); got != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	return s.Text(t, err)
}

// Text returns an error's text and checks that it contains no secrets.
func (s *Subject) Text(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	for _, secret := range s.Secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error contains the secret %q: %v", secret, err)
		}
	}
	if len(err.Error()) > 1000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
	return err.Error()
}

// Exercise runs the suite.
func Exercise(t *testing.T, s Subject) {
	t.Run("post", s.post)
	t.Run("statuses", s.statuses)
	t.Run("retry after", s.retryAfter)
	t.Run("garbage", s.garbage)
	if len(s.Secrets) > 0 {
		t.Run("secrets", s.secrets)
	}
	t.Run("redirect", s.redirect)
	t.Run("unreachable", s.unreachable)
	t.Run("reset", s.reset)
	t.Run("hang", s.hang)
	t.Run("endless body", s.endlessBody)
	if s.Key != nil {
		t.Run("key", s.key)
	}
	t.Run("concurrent", s.concurrent)
}

func (s Subject) post(t *testing.T) {
	service := Serve(t, s.Accept)
	sink := s.New(t, service.URL)
	if err := sink.Post(t.Context(), s.Message("key")); err != nil {
		t.Fatal(err)
	}
	if n := len(service.Bodies()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func (s Subject) statuses(t *testing.T) {
	for status, want := range map[int]string{
		400: "permanent", 401: "permanent", 403: "permanent", 404: "permanent", 410: "permanent", 413: "permanent",
		408: "temporary", 409: "temporary", 425: "temporary", 429: "temporary",
		500: "temporary", 502: "temporary", 503: "temporary", 504: "temporary", 520: "temporary",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			if text := s.Expect(t, Answer(status, "out of\norder"), want); !strings.Contains(text, fmt.Sprint(status)) {
				t.Errorf("%q does not name the status", text)
			}
		})
	}
}

func (s Subject) retryAfter(t *testing.T) {
	s.Expect(t, Answer(429, "", "Retry-After: 7"), "later 7s")
	s.Expect(t, Answer(503, "", "Retry-After: 120"), "later 2m0s")
	s.Expect(t, Answer(503, "", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"), "later 0s")
	s.Expect(t, Answer(429, "", "Retry-After: 1e300"), "later 24h0m0s")
	s.Expect(t, Answer(429, "", "Retry-After: -1"), "temporary")
	s.Expect(t, Answer(429, "", "Retry-After: NaN"), "temporary")
	s.Expect(t, Answer(429, "", "Retry-After: soon"), "temporary")

	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	err := s.New(t, Serve(t, Answer(503, "", "Retry-After: "+date)).URL).Post(t.Context(), s.Message("key"))
	var later *sink.Later
	if !errors.As(err, &later) || later.After <= 0 || later.After > time.Hour {
		t.Errorf("a date in an hour: %v", err)
	}
}

func (s Subject) garbage(t *testing.T) {
	want := "temporary"
	if s.StatusDecides {
		want = "posted"
	}
	for _, body := range []string{"", "<html>Welcome to the hotel's network</html>", "null", "{}", "[]", `{"ok":`, "\xff\xfe", `{"ok":"yes","id":7,"error":1}`} {
		s.Expect(t, Answer(200, body), want)
	}
}

func (s Subject) secrets(t *testing.T) {
	for _, status := range []int{200, 401, 500} {
		all := strings.Join(s.Secrets, " ")
		for _, body := range []string{
			all,
			strings.Repeat("x", 290) + all, // truncation of the error splits a secret
			fmt.Sprintf(`{"ok":false,"description":%q,"error":%[1]q,"message":%[1]q}`, all),
			fmt.Sprintf(`{"ok":false,"description":%q,"error":%[1]q,"message":%[1]q}`, strings.Repeat("x", 290)+all),
		} {
			err := s.New(t, Serve(t, Answer(status, body)).URL).Post(t.Context(), s.Message("key"))
			text := s.Text(t, err)
			for _, secret := range s.Secrets {
				if strings.Contains(text, secret[:len(secret)/2]) {
					t.Errorf("the error contains a part of the secret %q: %s", secret, text)
				}
			}
		}
	}
}

func (s Subject) redirect(t *testing.T) {
	other := Serve(t, s.Accept)
	for _, status := range []int{301, 302, 303, 307, 308} {
		text := s.Expect(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL+r.URL.RequestURI())
			w.WriteHeader(status)
		}, "permanent")
		if !strings.Contains(text, "redirects are not followed") {
			t.Errorf("%d: %q does not say why", status, text)
		}
	}
	if n := len(other.Bodies()); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func (s Subject) unreachable(t *testing.T) {
	service := Serve(t, s.Accept)
	service.Close()
	err := s.New(t, service.URL).Post(t.Context(), s.Message("key"))
	if Kind(err) != "temporary" {
		t.Errorf("no service: %v", err)
	}
	s.Text(t, err)
}

func (s Subject) reset(t *testing.T) {
	for _, head := range []string{"", "HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nhalf", "nonsense\r\n\r\n"} {
		s.Expect(t, func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, head)
			c.Close()
		}, "temporary")
	}
}

func (s Subject) hang(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	service := Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	err := s.New(t, service.URL).Post(ctx, s.Message("key"))
	if Kind(err) != "temporary" || !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended: %v", err)
	}
	s.Text(t, err)
}

func (s Subject) endlessBody(t *testing.T) {
	for _, status := range []int{500, 200} {
		err := s.New(t, Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			for chunk := strings.Repeat("x", 64<<10); ; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}).URL).Post(t.Context(), s.Message("key"))
		if got := Kind(err); got != "temporary" && (status != 200 || !s.StatusDecides) {
			t.Errorf("an endless body with status %d: %s (%v)", status, got, err)
		}
		s.Text(t, err)
	}
}

func (s Subject) key(t *testing.T) {
	service := Serve(t, Sequence(Answer(500, ""), s.Accept))
	sink := s.New(t, service.URL)
	for _, key := range []string{"one", "one", "two"} {
		_ = sink.Post(t.Context(), s.Message(key))
	}
	var keys []string
	for i, body := range service.Bodies() {
		keys = append(keys, s.Key(service.Headers()[i], body))
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("the keys of two attempts and another message: %q", keys)
	}
}

func (s Subject) concurrent(t *testing.T) {
	service := Serve(t, s.Accept)
	sink := s.New(t, service.URL)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := sink.Post(t.Context(), s.Message(fmt.Sprint("key", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(service.Bodies()); n != 16 {
		t.Errorf("%d requests, want 16", n)
	}
}
