package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverMessage is a message from the server: a progress notification or an answer.
type serverMessage struct {
	ID     any
	Method string
	Params map[string]any
}

// serveCall sends call over stdio and returns the progress notifications before the
// answer to id 1.
func serveCall(t *testing.T, s *Server, call string) (progress []map[string]any) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), sandboxed, fromClient, toClient) }()
	go fmt.Fprint(toServer, initialize, call, "\n")
	for out := bufio.NewScanner(fromServer); out.Scan(); {
		var m serverMessage
		if err := json.Unmarshal(out.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Method == "notifications/progress" {
			progress = append(progress, m.Params)
		}
		if m.ID == 1.0 {
			break
		}
	}
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return progress
}

func TestProgress(t *testing.T) {
	report := func(seconds float64) map[string]any {
		return map[string]any{"progressToken": "p", "progress": seconds, "message": "waiting for the answer"}
	}
	for _, c := range []struct {
		name, meta string
		takes      time.Duration
		want       []map[string]any
	}{
		{"slow", `{"progressToken":"p"}`, 12 * time.Second, []map[string]any{report(1), report(6), report(11)}},
		{"fast", `{"progressToken":"p"}`, time.Second / 2, nil},
		{"no token", `{}`, 12 * time.Second, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{gate: make(chan struct{})}
				time.AfterFunc(c.takes, func() { close(f.gate) })
				got := serveCall(t, newServer(t, f), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":`+c.meta+`}}`)
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// Over HTTP progress is sent in the stream of the call's answer.
func TestProgressHTTP(t *testing.T) {
	for _, version := range []string{"", "2025-06-18"} {
		t.Run("protocol "+version, func(t *testing.T) {
			f := &fake{gate: make(chan struct{})}
			s := newServer(t, f)
			s.first, s.next = time.Nanosecond, time.Hour
			srv := httptest.NewServer(users(s.Handler()))
			defer srv.Close()
			reported := make(chan any, 1)
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
					reported <- r.Params.ProgressToken
					close(f.gate)
				},
			})
			session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: withHeader{"bob"}}},
				&sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait", Meta: sdk.Meta{"progressToken": "mine"}}); err != nil {
				t.Fatal(err)
			}
			if token := <-reported; token != "mine" {
				t.Errorf("progress of %v", token)
			}
		})
	}
}
