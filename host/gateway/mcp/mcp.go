// Package mcp serves the tools over the Model Context Protocol, with the
// official Go SDK: on standard input and output, and as streamable HTTP.
//
// Names, descriptions and schemas are the plugin's own. A result is one text
// block, the JSON indented by two, and the same object as structured content;
// isError is set when its status is error or forbidden (S0.1). A list of the tools
// has those that its caller may use (S5.4). Calls that no
// tool answered are JSON-RPC errors: invalid params for an unknown tool or
// arguments that are no strict JSON, an internal error for the rest.
//
// Arguments reach the plugin byte for byte, which checks them. _meta.callId of a
// request is the call's id (S4.4): with it a call is picked up again after its
// connection was lost. _meta.callId of a result says which it had.
//
// When another version of the plugin serves that has other tools, clients are sent
// notifications/tools/list_changed.
//
// While a call takes its time, a request with a progress token is sent progress.
package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
)

// MaxMessage bounds one JSON-RPC message, in bytes.
const MaxMessage = 2 << 20

// Options of a Server. The zero value means the defaults.
type Options struct {
	// Name and Version are what the server calls itself; empty: "parley", "0".
	Name, Version string
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Server speaks MCP to any number of clients at once. It is safe for concurrent
// use; who made it closes it.
type Server struct {
	sdk       *sdk.Server
	tools     gateway.Tools
	admission *gateway.Admission
	logger    *slog.Logger

	first, next time.Duration // between a call's begin and its reports of progress

	following context.CancelFunc // ends follow
	followed  chan struct{}      // closed when it has ended
	offered   []abi.Tool         // those that the SDK has
}

// New makes a Server of the tools. One whose schemas the SDK refuses is left out.
func New(tools gateway.Tools, o *Options) *Server {
	var opts Options
	if o != nil {
		opts = *o
	}
	s := &Server{
		tools: tools, admission: gateway.NewAdmission(tools, nil), logger: cmp.Or(opts.Logger, slog.Default()),
		first: firstProgress, next: nextProgress,
	}
	about := &sdk.Implementation{Name: cmp.Or(opts.Name, "parley"), Version: cmp.Or(opts.Version, "0")}
	s.sdk = sdk.NewServer(about, &sdk.ServerOptions{
		Logger:       s.logger,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})
	s.sdk.AddReceivingMiddleware(s.listed)
	s.offer(tools.Tools())
	ctx, cancel := context.WithCancel(context.Background())
	s.following, s.followed = cancel, make(chan struct{})
	go s.follow(ctx)
	return s
}

// Close ends what calls wait for, and every client's session.
func (s *Server) Close() {
	s.following()
	<-s.followed
	s.admission.Close()
	for session := range s.sdk.Sessions() {
		if err := session.Close(); err != nil {
			s.logger.Debug("mcp: closing a session", "error", err)
		}
	}
}
