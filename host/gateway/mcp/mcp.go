// Package mcp serves the tools over the Model Context Protocol, on standard input and
// output and as streamable HTTP. It uses the official Go SDK.
//
// Names, descriptions and schemas are the plugin's own. A result is one text block, the
// JSON indented by two, and the same object as structured content; isError is set when
// its status is error or forbidden (S0.1). A list of tools contains the tools that its
// caller may use (S5.4). Calls that no tool answered are JSON-RPC errors: invalid params
// for an unknown tool or arguments that are not strict JSON, an internal error otherwise.
//
// Arguments reach the plugin byte for byte, and the plugin checks them. _meta.callId of a
// request is the call's id (S4.4): a client can use it to resume a call after its
// connection was lost. _meta.callId of a result is the id of its call.
//
// When a swap of the plugin changes the tools, the server sends
// notifications/tools/list_changed to clients.
//
// During a long call, the server sends progress notifications if the request has a
// progress token.
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

// Options configures a Server. The zero value means the defaults.
type Options struct {
	// Name and Version identify the server to clients; empty: "parley", "0".
	Name, Version string
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Server serves MCP to any number of clients. It is safe for concurrent use; the caller
// of New must call Close.
type Server struct {
	sdk       *sdk.Server
	tools     gateway.Tools
	admission *gateway.Admission
	logger    *slog.Logger

	first, next time.Duration // delay of the first progress notification, and interval of the next ones

	stopFollowing context.CancelFunc // ends follow
	followed      chan struct{}      // closed when follow has returned
	offered       []abi.Tool         // the tools registered with the SDK
}

// New makes a Server for the tools. It skips tools whose schemas the SDK rejects.
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
	s.sdk.AddReceivingMiddleware(s.filterTools)
	s.offer(tools.Tools())
	ctx, cancel := context.WithCancel(context.Background())
	s.stopFollowing, s.followed = cancel, make(chan struct{})
	go s.follow(ctx)
	return s
}

// Close cancels waiting calls and ends every client's session.
func (s *Server) Close() {
	s.stopFollowing()
	<-s.followed
	s.admission.Close()
	for session := range s.sdk.Sessions() {
		if err := session.Close(); err != nil {
			s.logger.Debug("mcp: closing a session", "error", err)
		}
	}
}
