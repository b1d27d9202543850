package post_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/internal/delivery/post"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"":                              "none",
		" 5 ":                           "5s",
		"0":                             "0s",
		"1.2":                           "1.2s",
		"0.0001":                        "1ms",
		"-1":                            "none",
		"Sun, 01 Mar 2026 12:00:30 GMT": "30s",
		"Sun, 01 Mar 2026 11:00:00 GMT": "0s",
		"Inf":                           "24h0m0s",
		"99999999999999999999":          "24h0m0s",
		"tomorrow":                      "none",
	} {
		got := "none"
		if d, ok := post.RetryAfter(http.Header{"Retry-After": {text}}, now); ok {
			got = d.String()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestBase(t *testing.T) {
	for address, want := range map[string]string{
		"":                         "https://own.example",
		"http://127.0.0.1:8080":    "http://127.0.0.1:8080",
		"https://proxy.example/a/": "https://proxy.example/a",
		"proxy.example":            "",
		"file:///etc/passwd":       "",
		"http://":                  "",
		"http://x/?a=b":            "",
		"http://x/#a":              "",
	} {
		if got, err := post.Base(address, "https://own.example"); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", address, got, err, want)
		}
	}
}

func TestTrimPrefixes(t *testing.T) {
	for to, want := range map[string]string{
		"7": "7", "telegram:7": "7", "TELEGRAM:tg:7": "7", "tg:": "tg:", "": "", "other:7": "other:7",
	} {
		if got := post.TrimPrefixes(to, "telegram:", "tg:"); got != want {
			t.Errorf("%q: %q, want %q", to, got, want)
		}
	}
}

func TestExcerptHidesSecrets(t *testing.T) {
	c := post.NewClient("x", nil, "a/b c", "")
	got := c.Excerpt(&post.Answer{Body: []byte("one a/b c\ntwo a%2Fb%20c three a%2Fb+c \xff")})
	if got != "one *** two *** three *** \uFFFD" {
		t.Errorf("%q", got)
	}
	if got := c.Excerpt(&post.Answer{Body: []byte(" \n")}); got != "an empty answer" {
		t.Errorf("%q", got)
	}
}
