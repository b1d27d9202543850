package httpapi

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/auth"
	"github.com/parley-wasm/parley/host/gateway/mcp"
	"github.com/parley-wasm/parley/host/gateway/waiting"
	"github.com/parley-wasm/parley/host/internal/invoke"
)

// HeaderIdempotency names a call or a message, so that it can be sent again
// (S4.4).
const HeaderIdempotency = "Idempotency-Key"

// HeaderSession is how an MCP client with the operator's token speaks as a
// session; over /tools/invoke the body says it.
const HeaderSession = "X-Openclaw-Session-Key"

// invoke answers one tool call. Its context is the request's: a client that goes
// away ends the waiting, not the call.
func (a *API) invoke(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	s := a.take(w)
	if s == nil {
		return
	}
	defer s.leave()
	body, failure := a.body(w, r, invoke.MaxBody)
	if failure != nil {
		write(w, *failure)
		return
	}
	ctx, call := a.waits.Track(r.Context(), s.leave)
	defer call.Done()
	reply, err := a.run(r.WithContext(ctx), who, body, call)
	finish(ctx, w, reply, err)
}

// finish writes the reply to a request whose wait may have ended early, with err:
// by the end of the gateway, or of the client, which needs none.
func finish(ctx context.Context, w http.ResponseWriter, reply invoke.Reply, err error) {
	switch {
	case err == nil || ctx.Err() == nil:
		write(w, reply)
	case waiting.CutOff(ctx):
		cutOff(w)
	}
}

// run answers a request body. The error is why the call got no answer; the reply
// says it to the client.
func (a *API) run(r *http.Request, who *auth.Identity, body []byte, wait host.Wait) (invoke.Reply, error) {
	req, err := invoke.Parse(body)
	if err != nil {
		return invoke.Fault(err), err
	}
	id, err := requestID(r)
	if err != nil {
		return invoke.Fault(err), err
	}
	tool := a.tool(req.Tool)
	if tool == nil {
		return invoke.Unavailable(req.Tool), nil
	}
	name := req.SessionKey
	if name == "" && who.Caller.Operator {
		name = sessionkey.Main
	}
	caller, err := a.caller(r, who, name)
	if err != nil {
		return invoke.Fault(err), err
	}
	args := req.Merged(tool.InputSchema)
	if req.DryRun {
		return invoke.Dry(tool.Name, args, &caller), nil
	}
	answer, err := a.options.Tools.Call(r.Context(), &host.Call{Tool: tool.Name, Args: args, Caller: caller, ID: id, Wait: wait})
	if err != nil {
		a.options.Logger.Log(r.Context(), severity(err), "httpapi: a call got no answer", "tool", tool.Name, "session", caller.SessionKey, "error", err)
		return callFailure(tool, err), err
	}
	return invoke.Answer(answer.Result, answer.Code), nil
}

// requestID is the caller's name for the request, or empty (S4.4).
func requestID(r *http.Request) (string, error) {
	id := strings.TrimSpace(r.Header.Get(HeaderIdempotency))
	return id, host.CheckCallID("the header "+HeaderIdempotency, id)
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
			body, failure := a.body(w, r, invoke.MaxBody)
			if failure != nil {
				write(w, *failure)
				return
			}
			r.Body = bytesBody(body)
		}
		next.ServeHTTP(w, r.WithContext(mcp.WithCaller(r.Context(), who.ID, caller)))
	}
}
