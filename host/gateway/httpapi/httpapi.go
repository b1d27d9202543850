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
// To the processes of one user, over the socket of the database's owner, which its
// file mode guards (NewLocal): every path below /v1, as the operator, and these, which
// the local user alone may call:
//
//	POST /v1/call                   {"tool", "args"?, "caller"?, "callId"?} → {"callId", "flowId"?, "result", "code"?}
//	GET  /v1/tools                  the plugin's tools, as describe gives them; with the query caller, those that it may use
//	GET  /v1/status                 under what the owner answers (local.Status)
//	POST /v1/import                 {"dir"} → lines of JSON, each a local.ImportEvent: progress, and at last a report or an error
//	GET  /v1/plugins/next           the active version, when it is not the one that the query digest names
//	GET  /v1/flows                  {"flows": […]}, with the query status*, session, flow, since, limit
//	GET  /v1/flows/{id}             a flow; POST …/retry and …/drop change it
//	GET  /v1/flows/{id}/end         the flow, when it has ended, rests or is parked
//	GET  /v1/runs                   {"runs": […]}, queried as flows are
//	GET  /v1/runs/{id}              a run
//	GET  /v1/tree                   {"roots": […]}, sessions with what they have spawned, with the query key, limit
//	GET  /v1/deliveries             {"deliveries": […]}, queried as flows are
//	POST /v1/deliveries/{id}/resend makes it pending again
//
// There a swap takes the query origin too, and a failure says its abi.Code and hides
// nothing: client and owner are one user.
//
// A failure is {"ok": false, "error": {"type", "code"?, "message"}}, with a status that
// fits the type, and a Retry-After when too many calls are under way or the gateway stops.
//
// Every answer that is not an MCP message is JSON, errors included. Nothing in a
// request can make the process stop: bodies, headers and the time to send them
// are bounded, and a panic is one request's alone.
//
// A request may wait for an hour, for an agent's answer. It has no deadline, and
// takes no slot among the calls under way (gateway.Admission). A client that goes
// away, or that TCP's keepalive finds dead, ends its own waiting and nothing else:
// the same call with the same id goes on with it (S4.4).
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

// Options of an API for the network. Tools, Tokens and Keys are required.
type Options struct {
	Tools gateway.Tools
	// Chat takes messages from outside; nil: the routes that need it are not there.
	Chat   gateway.Chat
	Tokens *gateway.Tokens
	// Keys gives the settings of session keys in force.
	Keys func() sessionkey.Settings
	// Plugins changes the plugin; nil: the route for it is not there.
	Plugins gateway.Plugins
	// About returns the active plugin's name and version, for /healthz and MCP; nil:
	// they are not known.
	About func() (name, version string)
	// MaxCalls is how many requests of /tools/invoke and /v1 may be under way; 0:
	// DefaultMaxCalls. Those that wait for agents do not count.
	MaxCalls int
	// Logger; nil: slog.Default(). Requests are logged at level debug.
	Logger *slog.Logger
}

// DefaultMaxCalls is the default of Options.MaxCalls: few of so many requests run, the
// others are queued with their bodies in memory.
const DefaultMaxCalls = 256

// API serves the network, or the processes of one user. It is safe for concurrent use;
// the caller of New or NewLocal closes it.
type API struct {
	admission *gateway.Admission
	tools     gateway.Tools
	about     func() (name, version string)
	logger    *slog.Logger
	mcp       *mcp.Server // nil for the processes of one user
	local     bool        // for the processes of one user
	routes    map[string]*route
	handler   http.Handler

	bodyTimeout time.Duration // to receive a body
}

var (
	_ http.Handler  = (*API)(nil)
	_ gateway.Front = (*API)(nil)
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
		a.add(pluginRoutes(o.Plugins, remoteCandidate)...)
	}
	return a, nil
}

// NewLocal makes an API for the processes of one user, who are the operator. logger may
// be nil.
func NewLocal(o gateway.Operator, c gateway.Chat, logger *slog.Logger) *API {
	a := assemble(o, &gateway.AdmissionOptions{Trusted: true, Keys: o.Keys}, logger)
	a.local = true
	a.add(historyRoute())
	a.add(chatRoutes(c, o.Keys)...)
	a.add(pluginRoutes(o, localCandidate)...)
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

// Close ends what requests wait for, and the MCP sessions with the streams that
// clients hold open. Requests that waited are answered with 503.
func (a *API) Close() {
	a.admission.Close()
	if a.mcp != nil {
		a.mcp.Close()
	}
}

// nowhere is the answer to a request for a path that is not served.
func (a *API) nowhere() *problem {
	if a.local {
		return newProblem(http.StatusNotFound, kindNotFound,
			"the owner of the database does not know this path; it may be of another version", abi.Unsupported)
	}
	return newProblem(http.StatusNotFound, kindNotFound,
		"there is nothing here; this gateway serves "+strings.Join(slices.Sorted(maps.Keys(a.routes)), ", "), abi.Unsupported)
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
	_, _ = w.Write(doc) // a client that has gone needs no answer
}
