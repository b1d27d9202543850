// Package httpapi implements the gateway's HTTP APIs.
//
// New serves the network. Every request except /healthz needs a bearer token; paths
// marked (operator) need the operator's:
//
//	POST /tools/invoke       one tool call, in OpenClaw's format (package invoke)
//	     /mcp                the tools over MCP, streamable HTTP (package mcp)
//	POST /v1/chat/send       {"sessionKey", "message", "from"?, "channel"?, "to"?, …} → {"runId"?, "status", "reply"?} (operator)
//	POST /v1/chat/history    {"sessionKey", "limit"?} → the result of sessions_history
//	POST /v1/agent           {"sessionKey", "message", "deliver"?, "idempotencyKey"?} → {"runId", "status"} (operator)
//	POST /v1/agent/wait      {"runId", "timeoutMs"?} → {"runId", "status", "reply"?, "error"?}
//	POST /v1/agent/abort     {"runId", "reason"?} → {"runId", "status"} (operator)
//	POST /v1/sessions/patch  {"key", SETTING…} → the session (operator)
//	GET  /v1/plugins         {"versions": […], "history": […]} (operator)
//	POST /v1/plugins         a WebAssembly module, which becomes active → {"before", "active", "same", "pinned"}; query
//	                         parameters digest, signature, force (operator)
//	GET  /healthz            {"status": "ok", "plugin": {"name", "version"}, "abi": 1}
//
// NewLocal serves the other processes of one user over the socket of the database's owner.
// The socket's file mode protects it, and every client is the operator. NewLocal serves
// the paths below /v1 and these:
//
//	POST /v1/call                   {"tool", "args"?, "caller"?, "callId"?} → {"callId", "flowId"?, "result", "code"?}
//	GET  /v1/tools                  the plugin's tools, in describe's format; query parameter caller: only the tools that it may use
//	GET  /v1/status                 the owner, its configuration and its plugin (local.Status)
//	POST /v1/import                 {"dir"} → lines of JSON, each a local.ImportEvent: progress, and finally a report or an error
//	GET  /v1/plugins/next           the active version, as soon as its digest differs from the query parameter digest
//	GET  /v1/flows                  {"flows": […]}; query parameters status*, session, flow, since, limit
//	GET  /v1/flows/{id}             a flow; POST …/retry and …/drop change it
//	GET  /v1/flows/{id}/end         the flow, as soon as it has ended, is idle or is parked
//	GET  /v1/runs                   {"runs": […]}; query parameters as for flows
//	GET  /v1/runs/{id}              a run
//	GET  /v1/tree                   {"roots": […]}, sessions with the sessions they have spawned; query parameters key, limit
//	GET  /v1/deliveries             {"deliveries": […]}; query parameters as for flows
//	POST /v1/deliveries/{id}/resend makes the delivery pending again
//
// On the socket, a swap also takes the query parameter origin, and an error has its
// abi.Code and all details, because client and owner belong to one user.
//
// A failure is {"ok": false, "error": {"type", "code"?, "message"}}, with an HTTP status
// that fits the type, and Retry-After if too many calls are in progress or the gateway is
// stopping.
//
// Every answer except an MCP message is JSON, errors included. No request can stop the
// process: bodies, headers and the time to send them are bounded, and a panic fails only
// its own request.
//
// A request may wait for an agent's answer for an hour. It has no deadline, and a waiting
// request holds no slot of the concurrent calls (gateway.Admission). If a client
// disconnects, or TCP keepalive finds it dead, only its wait ends: the same call with the
// same id resumes it (S4.4).
package httpapi

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/mcp"
)

// Options configures New. Tools, Tokens and Keys are required.
type Options struct {
	Tools gateway.Tools
	// Chat accepts messages from outside; nil: its routes are not served.
	Chat   gateway.Chat
	Tokens *gateway.Tokens
	// Keys returns the current settings for session keys.
	Keys func() sessionkey.Settings
	// Plugins changes the plugin; nil: its routes are not served.
	Plugins gateway.Plugins
	// About returns the active plugin's name and version, for /healthz and MCP; nil:
	// both are empty.
	About func() (name, version string)
	// MaxCalls is the maximum number of concurrent requests to /tools/invoke and /v1; 0:
	// DefaultMaxCalls. Requests that wait for agents do not count.
	MaxCalls int
	// Logger; nil: slog.Default(). Requests are logged at level debug.
	Logger *slog.Logger
}

// DefaultMaxCalls is the default of Options.MaxCalls. Few of these requests execute at
// the same time; the others are queued with their bodies in memory.
const DefaultMaxCalls = 256

// API serves the network, or the processes of one user. It is safe for concurrent use;
// the caller of New or NewLocal must call Close.
type API struct {
	admission *gateway.Admission
	tools     gateway.Tools
	about     func() (name, version string)
	logger    *slog.Logger
	mcp       *mcp.Server // nil if local
	local     bool        // made by NewLocal
	routes    map[string]*route
	handler   http.Handler

	bodyTimeout time.Duration // for a client to send a body
}

var (
	_ http.Handler     = (*API)(nil)
	_ gateway.FrontEnd = (*API)(nil)
)

// New makes an API for the network. It fails when a required option is missing.
func New(o *Options) (*API, error) {
	if o == nil || o.Tools == nil || o.Tokens == nil || o.Keys == nil {
		return nil, errors.New("httpapi: Options.Tools, Tokens and Keys are required")
	}
	bound := o.MaxCalls
	if bound == 0 {
		bound = DefaultMaxCalls
	}
	a := assemble(o.Tools, &gateway.AdmissionOptions{Tokens: o.Tokens, Keys: o.Keys, Bound: bound}, o.Logger)
	a.about = o.About
	if a.about == nil {
		a.about = func() (name, version string) { return "", "" }
	}
	name, version := a.about()
	a.mcp = mcp.New(o.Tools, &mcp.Options{Name: name, Version: version, Logger: a.logger})
	a.add(
		endpoint{method: http.MethodPost, path: "/tools/invoke", handler: a.invoke},
		endpoint{method: http.MethodGet, path: "/healthz", handler: a.health, open: true},
		endpoint{method: http.MethodHead, path: "/healthz", handler: a.health, open: true},
	)
	serveMCP := a.serveMCP(a.mcp.Handler())
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		a.add(endpoint{method: method, path: "/mcp", handler: serveMCP})
	}
	a.add(historyRoute())
	if o.Chat != nil {
		a.add(chatRoutes(o.Chat, o.Keys)...)
	}
	if o.Plugins != nil {
		a.add(pluginRoutes(o.Plugins, remoteModule)...)
	}
	return a, nil
}

// NewLocal makes an API for the processes of one user. Every client is the operator.
// logger may be nil.
func NewLocal(o gateway.Operator, c gateway.Chat, logger *slog.Logger) *API {
	a := assemble(o, &gateway.AdmissionOptions{Trusted: true, Keys: o.Keys}, logger)
	a.local = true
	a.add(historyRoute())
	a.add(chatRoutes(c, o.Keys)...)
	a.add(pluginRoutes(o, localModule)...)
	a.add(a.ownerRoutes(o)...)
	a.add(workRoutes(o)...)
	return a
}

func assemble(tools gateway.Tools, o *gateway.AdmissionOptions, logger *slog.Logger) *API {
	if logger == nil {
		logger = slog.Default()
	}
	a := &API{
		admission: gateway.NewAdmission(tools, o), tools: tools, logger: logger,
		routes: map[string]*route{}, bodyTimeout: 30 * time.Second,
	}
	a.handler = a.logged(a.recovered(a.timed(a.guarded(http.HandlerFunc(a.dispatch)))))
	return a
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Close cancels waiting requests, which are answered with 503, and ends the MCP sessions
// with their open streams.
func (a *API) Close() {
	a.admission.Close()
	if a.mcp != nil {
		a.mcp.Close()
	}
}

// unknownPath is the answer to a request for a path that is not served.
func (a *API) unknownPath() *problem {
	if a.local {
		return newProblem(http.StatusNotFound, kindNotFound,
			"unknown path; the owner of the database may run another version of this program", abi.Unsupported)
	}
	return newProblem(http.StatusNotFound, kindNotFound,
		"unknown path; this gateway serves "+strings.Join(slices.Sorted(maps.Keys(a.routes)), ", "), abi.Unsupported)
}

func (a *API) health(w http.ResponseWriter, _ *http.Request, _ *gateway.Identity) {
	o := jsonappend.Open(nil)
	o.String("status", "ok")
	p := jsonappend.Open(o.Key("plugin"))
	name, version := a.about()
	p.String("name", name)
	p.String("version", version)
	o.Value(p.Close())
	o.Int("abi", abi.Version)
	send(w, http.StatusOK, o.Close())
}

func send(w http.ResponseWriter, status int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(doc) // fails only if the client has disconnected
}
