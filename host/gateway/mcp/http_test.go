package mcp

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// users sets the caller of each request from its Authorization header.
func users(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u := r.Header.Get("Authorization"); u != "" {
			c := sandboxed
			c.SessionKey = "agent:" + u + ":main"
			r = r.WithContext(WithCaller(r.Context(), u, c))
		}
		next.ServeHTTP(w, r)
	})
}

type withHeader struct{ value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", h.value)
	return http.DefaultTransport.RoundTrip(r)
}

func TestHTTP(t *testing.T) {
	for _, version := range []string{"", "2025-06-18", "2025-11-25"} {
		t.Run("protocol "+version, func(t *testing.T) {
			f := &fake{}
			s := newServer(t, f)
			srv := httptest.NewServer(users(s.Handler()))
			defer srv.Close()
			session := connect(t, &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: withHeader{"bob"}}}, version)
			testSession(t, f, session, "agent:bob:main")
			if version != "" && session.InitializeResult().ProtocolVersion != version {
				t.Errorf("negotiated %s", session.InitializeResult().ProtocolVersion)
			}
			if version == "" && session.InitializeResult().ProtocolVersion != "2026-07-28" {
				t.Errorf("negotiated %s", session.InitializeResult().ProtocolVersion)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func post(t *testing.T, url, user, session, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if user != "" {
		r.Header.Set("Authorization", user)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// An MCP session accepts only requests of the identity that opened it.
func TestHTTPSessionIsBoundToIdentity(t *testing.T) {
	f := &fake{}
	srv := httptest.NewServer(users(newServer(t, f).Handler()))
	defer srv.Close()
	first, _, _ := strings.Cut(initialize, "\n")
	opened := post(t, srv.URL, "bob", "", first)
	id := opened.Header.Get("Mcp-Session-Id")
	if opened.StatusCode != 200 || id == "" {
		t.Fatalf("status %d, session %q", opened.StatusCode, id)
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`
	if r := post(t, srv.URL, "eve", id, call); r.StatusCode != http.StatusForbidden || len(f.calls) != 0 {
		t.Errorf("another user: status %d, %d calls", r.StatusCode, len(f.calls))
	}
	if r := post(t, srv.URL, "", id, call); r.StatusCode != http.StatusUnauthorized || len(f.calls) != 0 {
		t.Errorf("unauthenticated: status %d, %d calls", r.StatusCode, len(f.calls))
	}
	if r := post(t, srv.URL, "bob", id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.StatusCode != http.StatusAccepted {
		t.Errorf("initialized: status %d", r.StatusCode)
	}
	r := post(t, srv.URL, "bob", id, call)
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 || !bytes.Contains(body, []byte("agent:bob:main")) {
		t.Errorf("the session's user: status %d, %s", r.StatusCode, body)
	}
	if r := post(t, srv.URL, "bob", "no-such-session", call); r.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown session: status %d", r.StatusCode)
	}
}

func TestHTTPBadBodies(t *testing.T) {
	f := &fake{}
	srv := httptest.NewServer(users(newServer(t, f).Handler()))
	defer srv.Close()
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"garbage":   {"garbage", 400, `"id":null,"error":{"code":-32700`},
		"empty":     {"", 400, `"id":null,"error":{"code":-32700`},
		"duplicate": {`{"jsonrpc":"2.0","id":5,"method":"ping","method":"ping"}`, 400, `"id":5,"error":{"code":-32700`},
		"not UTF-8": {"{\"jsonrpc\":\"\xff\"}", 400, `"code":-32700`},
		"too large": {strings.Repeat(" ", MaxMessage+1), 413, "longer than 2097152 bytes"},
		"no method": {`{"jsonrpc":"2.0","id":5,"method":"none"}`, 400, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := post(t, srv.URL, "bob", "", c.body)
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != c.status || !strings.Contains(string(body), c.want) {
				t.Errorf("status %d, %s, %v; want %d and %s", r.StatusCode, body, err, c.status, c.want)
			}
		})
	}
}
