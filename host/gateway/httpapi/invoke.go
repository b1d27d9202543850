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

// invoke answers one tool call in OpenClaw's format. A client that disconnects ends only
// its wait, not the call.
func (a *API) invoke(w http.ResponseWriter, r *http.Request, identity *gateway.Identity) {
	request, body, ok := a.enter(w, r, invoke.MaxBody)
	if !ok {
		return
	}
	defer request.Done()
	doc, failure := a.invokeTool(request, r, identity, body)
	switch {
	case failure == nil:
		send(w, http.StatusOK, doc)
	case r.Context().Err() == nil: // the client is still connected
		a.fail(w, failure)
	}
}

// invokeTool makes the tool call of a request body and returns the answer or a failure.
func (a *API) invokeTool(request *gateway.Request, r *http.Request, identity *gateway.Identity, body []byte) ([]byte, *problem) {
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
		return nil, newProblem(http.StatusNotFound, kindNotFound, "Tool not available: "+truncate(req.Tool), abi.Internal)
	}
	name := req.SessionKey
	if name == "" && identity.Caller.Operator {
		name = sessionkey.Main
	}
	caller, err := a.caller(r, identity, name)
	if err != nil {
		return nil, a.problem(err)
	}
	args := req.Merged(tool.InputSchema)
	if req.DryRun {
		return a.result(invoke.DryRun(tool.Name, args, &caller))
	}
	answer, err := request.Call(&host.Call{Tool: tool.Name, Args: args, Caller: caller, ID: id})
	if err != nil {
		class, _ := gateway.Classify(err)
		a.logger.Log(r.Context(), class.Level(), "httpapi: call failed", "tool", tool.Name, "session", caller.SessionKey, "error", err)
		return nil, a.callProblem(tool, err)
	}
	if answer.Code == abi.InvalidArgs {
		// Other failures of the tool are results with HTTP status 200.
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

// callProblem returns the problem of a tool call that failed without an answer. If a
// read-only call exceeded a limit, callProblem hides the details of the sandbox. A call
// that writes was already accepted, so the client must learn its outcome.
func (a *API) callProblem(tool *abi.Tool, err error) *problem {
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

// caller returns the caller of a request. The headers of the channel context apply only
// to the operator: a session's token has its own channel context.
func (a *API) caller(r *http.Request, identity *gateway.Identity, name string) (abi.Caller, error) {
	if identity.Caller.Operator {
		operator := *identity
		for _, h := range []struct {
			header string
			to     *string
		}{{invoke.HeaderChannel, &operator.Caller.Channel}, {invoke.HeaderAccount, &operator.Caller.AccountID}} {
			v := strings.TrimSpace(r.Header.Get(h.header))
			if len(v) > 256 || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
				return abi.Caller{}, abi.NewError(abi.InvalidArgs, "the header "+h.header+" must be UTF-8 text of at most 256 bytes without control characters")
			}
			*h.to = v
		}
		identity = &operator
	}
	return a.admission.As(identity, name)
}
