// Package httpapi is the gateway's HTTP side.
//
// To the network (New), every request but /healthz with a bearer token:
//
//	POST /tools/invoke       one tool call, in OpenClaw's shape (package invoke)
//	     /mcp                the tools over MCP, streamable HTTP (package mcp)
//	POST /v1/chat/send       {"sessionKey", "message", "from"?, "channel"?, "to"?, …} → {"runId"?, "status", "reply"?}; the operator's
//	POST /v1/chat/history    {"sessionKey", "limit"?} → the result of sessions_history
//	POST /v1/agent           {"sessionKey", "message", "deliver"?, "idempotencyKey"?} → {"runId", "status"}; the operator's
//	POST /v1/agent/wait      {"runId", "timeoutMs"?} → {"runId", "status", "reply"?, "error"?}
//	POST /v1/agent/abort     {"runId", "reason"?} → {"runId", "status"}; the operator's
//	POST /v1/sessions/patch  {"key", SETTING…} → the session; the operator's
//	GET  /v1/plugins         {"versions": […], "history": […]}; the operator's
//	POST /v1/plugins         a WebAssembly module, which serves from then on → {"before", "active", "same", "pinned"}, with the
//	                         query digest, signature, force; the operator's
//	GET  /healthz            {"status": "ok", "plugin": {"name", "version"}, "abi": 1}
//
// To the processes of one user, over the socket of the database's owner, which
// its file mode guards (Socket):
//
//	POST /v1/call                   {"tool", "args"?, "caller"?, "callId"?} → {"callId", "flowId"?, "result", "code"?}
//	GET  /v1/tools                  the plugin's tools, as describe gives them; with the query caller, those that it may use
//	GET  /v1/plugins                {"versions": […], "history": […]}; POST swaps as above, with the query origin too
//	GET  /v1/plugins/next           the active version, when it is not the one that the query digest names
//	GET  /v1/flows                  {"flows": […]}, with the query status*, session, flow, since, limit
//	GET  /v1/flows/{id}             a flow; POST …/retry and …/drop change it
//	GET  /v1/flows/{id}/end         the flow, when it has ended, rests or is parked
//	GET  /v1/runs                   {"runs": […]}, queried as flows are
//	GET  /v1/runs/{id}              a run
//	GET  /v1/tree                   {"roots": […]}, sessions with what they have spawned, with the query key, limit
//	POST /v1/runs/{id}/kill         {"why"?} → the run, when it has ended by that
//	GET  /v1/deliveries             {"deliveries": […]}, queried as flows are
//	POST /v1/deliveries/{id}/resend makes it pending again
//
// Every answer that is not an MCP message is JSON, errors included. Nothing in a
// request can make the process stop: bodies, headers and the time to send them
// are bounded, and a panic is one request's alone.
//
// A request may wait for an hour, for an agent's answer. It has no deadline, and
// takes no slot among the calls under way (package waiting). A client that goes
// away, or that TCP's keepalive finds dead, ends its own waiting and nothing else:
// the same call with the same id goes on with it (S4.4).
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/auth"
	"github.com/parley-wasm/parley/host/gateway/mcp"
	"github.com/parley-wasm/parley/host/gateway/waiting"
	"github.com/parley-wasm/parley/host/internal/invoke"
)

// Tools answers tool calls: a host of this process, or a client of another.
type Tools interface {
	Tools() []abi.Tool
	// ToolsFor returns those that the caller may use.
	ToolsFor(ctx context.Context, c abi.Caller) ([]abi.Tool, error)
	Call(ctx context.Context, c *host.Call) (*host.Answer, error)
}

var _ Tools = (*host.Host)(nil)

// Options of an API. Tools, Tokens and Keys are required.
type Options struct {
	Tools Tools
	// Chat takes messages from outside; nil: the routes that need it are not there.
	Chat   Chat
	Tokens *auth.Tokens
	// Keys gives the settings of session keys in force.
	Keys func() sessionkey.Settings
	// Plugins changes the plugin; nil: the route for it is not there.
	Plugins Plugins
	// About returns the active plugin's name and version, for /healthz and MCP; nil:
	// they are not known.
	About func() (name, version string)
	// Logger; nil: slog.Default(). Requests are logged at level debug.
	Logger *slog.Logger
}

// maxCalls is how many requests of /tools/invoke and /v1 may be under way: few of
// them run, the others are queued with their bodies in memory. Those that wait for
// agents do not count.
const maxCalls = 256

// API serves the network. It is safe for concurrent use; who made it closes it.
type API struct {
	options Options
	mcp     *mcp.Server
	routes  map[string]route
	handler http.Handler

	bodyTimeout time.Duration // to receive a body
	calls       chan struct{} // a slot for each request under way
	waits       *waiting.Group
}

// route is what a path answers to.
type route struct {
	methods []string
	handler handler
	open    bool // needs no token
	// operator is what the route does, if it is for the operator alone.
	operator string
}

// handler answers a request of somebody.
type handler func(http.ResponseWriter, *http.Request, *auth.Identity)

// byMethod are a path's handlers.
type byMethod map[string]handler

func (m byMethod) handle(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	m[r.Method](w, r, who)
}

// New makes an API. It fails when a required option is missing.
func New(o *Options) (*API, error) {
	if o == nil || o.Tools == nil || o.Tokens == nil || o.Keys == nil {
		return nil, errors.New("httpapi: Options.Tools, Tokens and Keys are required")
	}
	a := &API{options: *o, bodyTimeout: 30 * time.Second, calls: make(chan struct{}, maxCalls), waits: waiting.NewGroup()}
	if a.options.Logger == nil {
		a.options.Logger = slog.Default()
	}
	if a.options.About == nil {
		a.options.About = func() (name, version string) { return "", "" }
	}
	name, version := a.options.About()
	a.mcp = mcp.New(o.Tools, &mcp.Options{Name: name, Version: version, Logger: a.options.Logger})
	a.routes = map[string]route{
		"/tools/invoke":    {methods: []string{http.MethodPost}, handler: a.invoke},
		"/mcp":             {methods: []string{http.MethodGet, http.MethodPost, http.MethodDelete}, handler: a.serveMCP(a.mcp.Handler())},
		"/v1/chat/history": {methods: []string{http.MethodPost}, handler: a.exchange(history(o.Tools))},
		"/healthz":         {methods: []string{http.MethodGet, http.MethodHead}, handler: a.health, open: true},
	}
	if o.Chat != nil {
		a.addChat(o.Chat)
	}
	if o.Plugins != nil {
		a.addPlugins(o.Plugins)
	}
	a.handler = logged(a.options.Logger, recovered(a.options.Logger, a.timed(guarded(http.HandlerFunc(a.route)))))
	return a, nil
}

var _ http.Handler = (*API)(nil)

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Close ends what requests wait for, and the MCP sessions with the streams that
// clients hold open.
func (a *API) Close() {
	a.waits.Close()
	a.mcp.Close()
}

func (a *API) route(w http.ResponseWriter, r *http.Request) {
	to, ok := a.routes[r.URL.Path]
	if !ok {
		write(w, invoke.Failure(http.StatusNotFound, invoke.NotFound, "there is nothing here; this gateway serves "+strings.Join(slices.Sorted(maps.Keys(a.routes)), ", ")))
		return
	}
	if !slices.Contains(to.methods, r.Method) {
		allowed := strings.Join(to.methods, ", ")
		w.Header().Set("Allow", allowed)
		write(w, invoke.Failure(http.StatusMethodNotAllowed, invoke.MethodNotAllowed, "use "+allowed))
		return
	}
	if to.open {
		to.handler(w, r, nil)
		return
	}
	who, err := a.options.Tokens.Identify(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		write(w, invoke.Failure(http.StatusUnauthorized, invoke.Unauthorized, err.Error()))
		return
	}
	if to.operator != "" && !who.Caller.Operator {
		forbid(w, fmt.Sprintf("%s is for the operator alone, and this token stands for the session %s; use the operator's token, or the session tools at /tools/invoke",
			to.operator, who.Caller.SessionKey))
		return
	}
	to.handler(w, r, who)
}

func (a *API) health(w http.ResponseWriter, _ *http.Request, _ *auth.Identity) {
	o := jsonappend.Open(nil)
	o.String("status", "ok")
	p := jsonappend.Open(o.Key("plugin"))
	name, version := a.options.About()
	p.String("name", name)
	p.String("version", version)
	o.Value(p.Close())
	o.Int("abi", abi.Version)
	write(w, invoke.Reply{Status: http.StatusOK, Body: o.Close()})
}

func write(w http.ResponseWriter, r invoke.Reply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // a client that has gone needs no answer
}
