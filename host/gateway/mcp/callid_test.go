package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Cancelling a request, or losing its connection, ends only its wait: another request with
// the same callId joins the call, also over another connection.
func TestCallIDJoinsCall(t *testing.T) {
	transports := map[string]func(t *testing.T, s *Server) sdk.Transport{
		"stdio": func(t *testing.T, s *Server) sdk.Transport {
			fromClient, toServer := io.Pipe()
			fromServer, toClient := io.Pipe()
			go func() { _ = s.ServeStdio(t.Context(), sandboxed, fromClient, toClient) }()
			return &sdk.IOTransport{Reader: fromServer, Writer: toServer}
		},
		"HTTP": func(t *testing.T, s *Server) sdk.Transport {
			srv := httptest.NewServer(users(s.Handler()))
			t.Cleanup(srv.Close)
			return &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: withHeader{"bob"}}}
		},
	}
	for name, transport := range transports {
		for _, version := range []string{"", "2025-06-18"} {
			t.Run(name+" "+version, func(t *testing.T) {
				f := &fake{gate: make(chan struct{}), waits: make(chan string)}
				s := newServer(t, f)
				call := func(ctx context.Context) <-chan error {
					session := connect(t, transport(t, s), version)
					t.Cleanup(func() { session.Close() })
					ended := make(chan error, 1)
					go func() {
						r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "wait", Meta: sdk.Meta{"callId": "c-1"}})
						if err == nil && r.Meta["callId"] != "c-1" {
							err = errors.New("the result belongs to another call")
						}
						ended <- err
					}()
					<-f.waits
					return ended
				}
				ctx, cancel := context.WithCancel(t.Context())
				first := call(ctx)
				cancel()
				if err := <-first; !errors.Is(err, context.Canceled) {
					t.Errorf("the first call ended with %v", err)
				}
				second := call(t.Context())
				close(f.gate)
				if err := <-second; err != nil {
					t.Errorf("the second call ended with %v", err)
				}
				if len(f.started) != 1 || !f.started["c-1"] {
					t.Errorf("the started calls are %v", f.started)
				}
			})
		}
	}
}

// Close cancels waiting calls, and so does not block.
func TestCloseCancelsWaits(t *testing.T) {
	f := &fake{gate: make(chan struct{}), waits: make(chan string)}
	s := newServer(t, f)
	srv := httptest.NewServer(users(s.Handler()))
	defer srv.Close()
	session := connect(t, &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: withHeader{"bob"}}}, "2025-06-18")
	defer session.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait"})
		ended <- err
	}()
	<-f.waits
	s.Close()
	if err := <-ended; err == nil { // the error's text may not reach the closed stream
		t.Error("the call was answered")
	}
}
