package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
)

// withCaller sets the caller of every request.
func withCaller(c *abi.Caller, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), "id", *c)))
	})
}

func listedTo(t *testing.T, session *sdk.ClientSession) (names []string) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A server lists for each caller the tools that it may use, in any order of requests.
func TestListForCaller(t *testing.T) {
	run := abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops", RunID: "r_1"}
	child := run
	child.SessionKey, child.Depth = "agent:ops:subagent:1", 1
	s := newServer(t, &fake{})
	for _, version := range []string{"", "2025-06-18", "2025-11-25"} {
		for _, c := range []struct {
			caller abi.Caller
			want   []string
		}{
			{child, []string{"echo"}},
			{abi.Caller{Operator: true}, []string{"echo", "wait"}},
			{run, []string{"echo", "wait"}},
			{child, []string{"echo"}},
		} {
			srv := httptest.NewServer(withCaller(&c.caller, s.Handler()))
			session := connect(t, &sdk.StreamableClientTransport{Endpoint: srv.URL}, version)
			if got := listedTo(t, session); !slices.Equal(got, c.want) {
				t.Errorf("protocol %q: %+v is listed %q, want %q", version, c.caller, got, c.want)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			srv.Close()
		}
	}
}

func TestListOverStdio(t *testing.T) {
	s := newServer(t, &fake{})
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.ServeStdio(t.Context(), abi.Caller{SessionKey: "agent:ops:subagent:1", AgentID: "ops", RunID: "r_1", Depth: 1}, fromClient, toClient)
	}()
	session := connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, "")
	if got := listedTo(t, session); !slices.Equal(got, []string{"echo"}) {
		t.Errorf("listed %q", got)
	}
	if err := errors.Join(session.Close(), toServer.Close(), <-done); err != nil {
		t.Error(err)
	}
}

// The cache scope of a list is private. A list fails if the caller's tools cannot be
// determined.
func TestListIsPrivate(t *testing.T) {
	f := &fake{}
	srv := httptest.NewServer(users(newServer(t, f).Handler()))
	defer srv.Close()
	session := connect(t, &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: withHeader{"bob"}}}, "")
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || list.CacheScope != "private" {
		t.Errorf("the list is %+v, %v", list, err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{abi.NewError(abi.Conflict, "another owner"), "another owner"},
		{errors.New("secret detail"), "the gateway's log has the details"},
		{context.DeadlineExceeded, "the gateway's log has the details"},
	} {
		f.listErr = c.err
		if _, err := session.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v is reported as %v", c.err, err)
		}
	}
}
