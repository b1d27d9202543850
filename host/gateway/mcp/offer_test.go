package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
)

// swappableTools implements PluginAwaiter with a sequence of versions.
type swappableTools struct {
	fake
	mu     sync.Mutex
	digest string
	offers []abi.Tool
	next   chan struct{} // closed by the next swap
	err    error         // returned by the next AwaitPlugin
}

var _ PluginAwaiter = (*swappableTools)(nil)

func (s *swappableTools) Tools() []abi.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offers
}

func (s *swappableTools) ToolsFor(context.Context, abi.Caller) ([]abi.Tool, error) {
	return s.Tools(), nil
}

func (s *swappableTools) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	for {
		s.mu.Lock()
		now, next, err := s.digest, s.next, s.err
		s.err = nil
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case now != digest:
			return &host.Plugin{Digest: now}, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *swappableTools) swap(digest string, tools ...abi.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digest, s.offers = digest, tools
	close(s.next)
	s.next = make(chan struct{})
}

func named(name, description string) abi.Tool {
	return abi.Tool{Name: name, Description: description, InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`)}
}

// Clients are notified only of versions with other tools.
func TestToolsChange(t *testing.T) {
	tools := &swappableTools{digest: "1", offers: []abi.Tool{named("a", ""), named("b", "")}, next: make(chan struct{}), err: errors.New("the owner has ended")}
	s := New(tools, &Options{Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	web := httptest.NewServer(withCaller(&abi.Caller{Operator: true}, s.Handler()))
	defer web.Close()
	notified := make(chan struct{}, 8)
	bad := abi.Tool{Name: "c", InputSchema: []byte(`{}`), OutputSchema: []byte(`{}`)}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { notified <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	if got := listedTo(t, session); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("the first version's tools are %v", got)
	}
	for _, c := range []struct {
		digest string
		tools  []abi.Tool
		want   []string
	}{
		{"2", []abi.Tool{named("b", ""), named("c", "")}, []string{"b", "c"}},
		{"3", []abi.Tool{named("b", "new description"), named("c", "")}, []string{"b", "c"}},
		// Version "bad" removes tool c, whose schema the SDK rejects. Version "good" adds it again.
		{"bad", []abi.Tool{bad, named("a", "")}, []string{"a"}},
		{"good", []abi.Tool{named("c", ""), named("a", ""), named("b", "")}, []string{"a", "b", "c"}},
		{"4", []abi.Tool{named("c", "")}, []string{"c"}},
	} {
		tools.swap(c.digest, c.tools...)
		<-notified
		if got := listedTo(t, session); !slices.Equal(got, c.want) {
			t.Errorf("version %s: the tools are %v, want %v", c.digest, got, c.want)
		}
	}
	if r, err := session.ListTools(t.Context(), nil); err != nil || r.Tools[0].Description != "" {
		t.Errorf("%v, %v", r, err)
	}
	// A version with the same tools causes no notification; the next one does.
	tools.swap("5", named("c", ""))
	tools.swap("6", named("d", ""))
	<-notified
	if got := listedTo(t, session); !slices.Equal(got, []string{"d"}) {
		t.Errorf("the last version's tools are %v", got)
	}
	if len(notified) > 0 {
		t.Error("clients received another notification")
	}
}
