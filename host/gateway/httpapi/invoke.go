package httpapi

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/invoke"
)

// invoke answers one tool call in OpenClaw's shape. Its context is the request's: a
// client that goes away ends the waiting, not the call.
func (a *API) invoke(w http.ResponseWriter, r *http.Request, who *gateway.Identity) {
	request, body, ok := a.enter(w, r, invoke.MaxBody)
	if !ok {
		return
	}
	defer request.Done()
	doc, no := a.invoked(request, r, who, body)
	switch {
	case no == nil:
		send(w, http.StatusOK, doc)
	case r.Context().Err() == nil: // else the client has gone, and needs no answer
		a.fail(w, no)
	}
}

// invoked answers a request body.
func (a *API) invoked(request *gateway.Request, r *http.Request, who *gateway.Identity, body []byte) ([]byte, *problem) {
	req, err := invoke.Parse(body)
	if err != nil {
		return nil, a.problem(err)
	}
	id, err := requestID(r)
	if err != nil {
		return nil, a.problem(err)
	}
	tool := a.tool(req.Tool)
	if tool == nil {
		return nil, newProblem(http.StatusNotFound, kindNotFound, "Tool not available: "+clip(req.Tool), abi.Internal)
	}
	name := req.SessionKey
	if name == "" && who.Caller.Operator {
		name = sessionkey.Main
	}
	caller, err := a.caller(r, who, name)
	if err != nil {
		return nil, a.problem(err)
	}
	args := req.Merged(tool.InputSchema)
	if req.DryRun {
		return a.result(invoke.Dry(tool.Name, args, &caller))
	}
	answer, err := request.Call(&host.Call{Tool: tool.Name, Args: args, Caller: caller, ID: id})
	if err != nil {
		class, _ := gateway.Classify(err)
		a.logger.Log(r.Context(), class.Level(), "httpapi: a call got no answer", "tool", tool.Name, "session", caller.SessionKey, "error", err)
		return nil, a.unanswered(tool, err)
	}
	if answer.Code == abi.InvalidArgs {
		// A missing or wrong argument; every other failure of the tool is a result.
		return nil, newProblem(http.StatusBadRequest, kindTool, gjson.GetBytes(answer.Result, "error").String(), abi.Internal)
	}
	return a.result(invoke.Result(answer.Result))
}

func (a *API) result(doc []byte, err error) ([]byte, *problem) {
	if err != nil {
		return nil, a.problem(err)
	}
	return doc, nil
}

// unanswered is the problem of a tool call that got no answer. A read-only call that
// went over a limit shows nothing of the sandbox; one that writes was accepted before,
// and the client must know what became of it.
func (a *API) unanswered(tool *abi.Tool, err error) *problem {
	p := a.problem(err)
	if class, text := gateway.Classify(err); class == gateway.Limit {
		p = newProblem(http.StatusInternalServerError, kindTool, text, p.code)
		if tool.ReadOnly {
			p.message = textInternal
		}
	}
	return p
}

func (a *API) tool(name string) *abi.Tool {
	tools := a.tools.Tools()
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// caller is the caller of a request. The headers of the channel context count for the
// operator alone: a session's token has its own.
func (a *API) caller(r *http.Request, who *gateway.Identity, name string) (abi.Caller, error) {
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
	return a.admission.As(who, name)
}
