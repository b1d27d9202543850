package httpapi

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/auth"
	"github.com/parley-wasm/parley/host/gateway/callid"
	"github.com/parley-wasm/parley/host/gateway/mcp"
	"github.com/parley-wasm/parley/host/openclaw/invoke"
)

// HeaderIdempotency names a call over /tools/invoke (S4.4).
const HeaderIdempotency = "Idempotency-Key"

// HeaderSession is how an MCP client with the operator's token speaks as a
// session; over /tools/invoke the body says it.
const HeaderSession = "X-Openclaw-Session-Key"

func (a *API) invoke(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	select {
	case a.calls <- struct{}{}:
		defer func() { <-a.calls }()
	default:
		w.Header().Set("Retry-After", "1")
		write(w, invoke.Failure(http.StatusTooManyRequests, invoke.TooManyRequests, "too many calls are under way; try again in a second"))
		return
	}
	body, failure := a.body(w, r)
	if failure != nil {
		write(w, *failure)
		return
	}
	if reply, ok := a.run(r, who, body); ok {
		write(w, reply)
	}
}

// run answers a request body. It reports false when the client has gone.
func (a *API) run(r *http.Request, who *auth.Identity, body []byte) (invoke.Reply, bool) {
	req, err := invoke.Parse(body)
	if err != nil {
		return invoke.Fault(err), true
	}
	id := strings.TrimSpace(r.Header.Get(HeaderIdempotency))
	if err := callid.Check(id); err != nil {
		return invoke.Fault(err), true
	}
	tool := a.tool(req.Tool)
	if tool == nil {
		return invoke.Unavailable(req.Tool), true
	}
	name := req.SessionKey
	if name == "" && who.Caller.Operator {
		name = sessionkey.Main
	}
	caller, err := a.caller(r, who, name)
	if err != nil {
		return invoke.Fault(err), true
	}
	args := req.Merged(tool.InputSchema)
	if req.DryRun {
		return invoke.Dry(tool.Name, args, &caller), true
	}
	answer, err := a.options.Tools.Call(r.Context(), &host.Call{Tool: tool.Name, Args: args, Caller: caller, ID: id})
	switch {
	case r.Context().Err() != nil:
		return invoke.Reply{}, false
	case err != nil:
		a.options.Logger.Info("httpapi: a call got no answer", "tool", tool.Name, "session", caller.SessionKey, "error", err)
		return invoke.Fault(err), true
	}
	return invoke.Answer(answer.Result, answer.Code), true
}

func (a *API) tool(name string) *abi.Tool {
	tools := a.options.Tools.Tools()
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// caller is who the request speaks as. The headers of the channel context count
// for the operator alone: a session's token has its own.
func (a *API) caller(r *http.Request, who *auth.Identity, name string) (abi.Caller, error) {
	if who.Caller.Operator {
		context := *who
		for _, h := range []struct {
			header string
			to     *string
		}{{invoke.HeaderChannel, &context.Caller.Channel}, {invoke.HeaderAccount, &context.Caller.AccountID}} {
			v := strings.TrimSpace(r.Header.Get(h.header))
			if len(v) > 256 || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
				return abi.Caller{}, abi.NewError(abi.InvalidArgs, "the header "+h.header+" must be a short text")
			}
			*h.to = v
		}
		who = &context
	}
	return who.As(name, a.options.Keys())
}

// serveMCP puts the caller into the request's context, where package mcp looks.
func (a *API) serveMCP(next http.Handler) func(http.ResponseWriter, *http.Request, *auth.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
		caller, err := a.caller(r, who, r.Header.Get(HeaderSession))
		if err != nil {
			write(w, invoke.Fault(err))
			return
		}
		if r.Method == http.MethodPost {
			body, failure := a.body(w, r)
			if failure != nil {
				write(w, *failure)
				return
			}
			r.Body = bytesBody(body)
		}
		next.ServeHTTP(w, r.WithContext(mcp.WithCaller(r.Context(), who.ID, caller)))
	}
}
