package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/local"
)

// maxLocalCall bounds the body of a call: the arguments and the enclosing members.
const maxLocalCall = host.MaxArgs + 64<<10

// ownerRoutes are the endpoints for tools, status and imports, for the local user.
func (a *API) ownerRoutes(o gateway.Operator) []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/v1/status", do: func(*input) ([]byte, error) { return encode(o.Status(), nil) }},
		{method: http.MethodGet, path: "/v1/tools", do: describe(o)},
		{method: http.MethodPost, path: "/v1/call", do: callTool, maxBody: maxLocalCall},
		{method: http.MethodPost, path: "/v1/import", handler: a.importer(o)},
		{method: http.MethodGet, path: "/v1/plugins/next", do: func(in *input) ([]byte, error) {
			return encode(gateway.Await(in.Request, func(ctx context.Context) (*host.Plugin, error) {
				return o.AwaitPlugin(ctx, in.query.Get(local.QueryDigest))
			}))
		}},
	}
}

// describe answers with all tools, or with those that the caller in the query may use.
func describe(tools gateway.Tools) operation {
	return func(in *input) ([]byte, error) {
		d := abi.Description{ABI: abi.Version, Tools: tools.Tools()}
		if !in.query.Has(local.QueryCaller) {
			return d.AppendJSON(nil), nil
		}
		var c abi.Caller
		text := in.query.Get(local.QueryCaller)
		if readBody([]byte(text), &c, jsonobject.Strict) != nil || checkCaller(&c) != nil {
			return nil, invalid("the query's %s=%s is wrong", local.QueryCaller, truncate(text))
		}
		var err error
		d.Tools, err = tools.ToolsFor(in.Context(), c)
		return d.AppendJSON(nil), err
	}
}

// callTool makes a tool call as the caller in the body, or as the operator if the body has
// no caller. The caller's sessionKey must be canonical.
func callTool(in *input) ([]byte, error) {
	c, err := parseCall(in.body)
	if err != nil {
		return nil, err
	}
	answer, err := in.Call(c)
	if err != nil {
		return nil, err
	}
	return local.AnswerMembers.Append(make([]byte, 0, len(answer.Result)+128), answer), nil
}

func parseCall(body []byte) (*host.Call, error) {
	var q local.CallRequest
	if err := readBody(body, local.CallMembers.Of(&q), jsonobject.Strict); err != nil {
		return nil, err
	}
	if q.Caller == nil {
		q.Caller = &abi.Caller{Operator: true}
	}
	if err := checkCaller(q.Caller); err != nil {
		return nil, err
	}
	return &host.Call{Tool: q.Tool, Args: q.Args, Caller: *q.Caller, ID: q.ID}, host.CheckCallID("callId", q.ID)
}

// checkCaller rejects negative numbers.
func checkCaller(c *abi.Caller) error {
	if c.Depth < 0 || c.Hops < 0 {
		return invalid("caller.depth and caller.hops must not be negative")
	}
	return nil
}

// importer imports an OpenClaw directory and writes an event per line. An import ends
// when its client disconnects. Only one import runs at a time.
func (a *API) importer(o gateway.Operator) handler {
	var busy sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, _ *gateway.Identity) {
		body, failure := a.body(w, r, defaultMaxBody)
		var q local.ImportRequest
		switch {
		case failure != nil:
			a.fail(w, failure)
			return
		case readBody(body, local.ImportMembers.Of(&q), jsonobject.Strict) != nil || !filepath.IsAbs(q.Dir):
			a.fail(w, a.problem(invalid(`the body must be {"dir": ABSOLUTE PATH}`)))
			return
		case !busy.TryLock():
			a.fail(w, a.problem(abi.NewError(abi.Conflict, "another import is running: wait until it has ended")))
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		out, flush := json.NewEncoder(w), http.NewResponseController(w)
		write := func(e local.ImportEvent) {
			// Errors are ignored: a disconnect cancels the request's context, and so the import.
			_ = out.Encode(e)
			_ = flush.Flush()
		}
		report, err := func() (*local.ImportReport, error) {
			defer busy.Unlock() // before the last event, which allows the client to start the next import
			return o.Import(r.Context(), q.Dir, func(p local.ImportProgress) { write(local.ImportEvent{Progress: &p}) })
		}()
		if err != nil {
			write(local.ImportEvent{Error: importFailure(err)})
			return
		}
		write(local.ImportEvent{Report: report})
	}
}

func importFailure(err error) *local.Failure {
	code := abi.Internal
	var e *abi.Error
	switch {
	case errors.As(err, &e):
		code = e.Code
	case errors.Is(err, fs.ErrNotExist):
		code = abi.NotFound
	}
	return &local.Failure{Code: code, Message: err.Error()}
}
