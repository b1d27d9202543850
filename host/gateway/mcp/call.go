package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
)

// callID is the member of _meta that names a call.
const callID = "callId"

// callerExtra is where a request's token information holds its caller.
const callerExtra = "parley.caller"

func tokenInfo(id string, c abi.Caller) *auth.TokenInfo {
	return &auth.TokenInfo{UserID: id, Extra: map[string]any{callerExtra: c}}
}

// callerOf returns who sent the request. Every transport says so for each
// request; without it nothing is listed or called.
func callerOf(r sdk.Request) (abi.Caller, error) {
	if x := r.GetExtra(); x != nil && x.TokenInfo != nil {
		if c, ok := x.TokenInfo.Extra[callerExtra].(abi.Caller); ok {
			return c, nil
		}
	}
	return abi.Caller{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the request comes from nobody"}
}

// call answers one tool call. A request that is cancelled, or whose connection is
// lost, ends its waiting and nothing else.
func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	caller, err := callerOf(r)
	if err != nil {
		return nil, err
	}
	id, err := idOf(r.Params.Meta)
	if err != nil {
		return nil, protocolError(err)
	}
	args := r.Params.Arguments
	if string(bytes.TrimSpace(args)) == "null" {
		args = nil
	}
	request, err := s.admission.Enter(ctx)
	if err != nil {
		return nil, protocolError(err)
	}
	defer request.Done()
	stop := s.progress(request.Context(), r)
	answer, err := request.Call(&host.Call{Tool: r.Params.Name, Args: args, Caller: caller, ID: id})
	stop()
	if err != nil {
		return nil, protocolError(err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, answer.Result, "", "  "); err != nil {
		s.logger.Error("mcp: the result is no JSON", "tool", r.Params.Name, "call", answer.CallID, "error", err)
		return nil, protocolError(err)
	}
	return &sdk.CallToolResult{
		Meta:              sdk.Meta{callID: answer.CallID},
		Content:           []sdk.Content{&sdk.TextContent{Text: text.String()}},
		StructuredContent: rawJSON(answer.Result),
		IsError:           answer.Code != "",
	}, nil
}

func idOf(meta sdk.Meta) (string, error) {
	v, ok := meta[callID]
	if !ok || v == nil {
		return "", nil
	}
	id, ok := v.(string)
	if !ok {
		return "", abi.NewError(abi.InvalidArgs, "_meta.callId must be a string")
	}
	id = strings.TrimSpace(id)
	return id, host.CheckCallID("_meta.callId", id)
}

// protocolError makes err a JSON-RPC error. Only what the client can change is
// told.
func protocolError(err error) error {
	internal := func(text string) error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}
	}
	switch class, text := gateway.Classify(err); class {
	case gateway.Gone:
		return err
	case gateway.Full:
		return internal("the gateway's disk is full and nothing was accepted: call again when there is room, with the same _meta.callId")
	case gateway.Invalid, gateway.NotFound:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
	case gateway.Internal:
		return internal("the call failed; the gateway's log has the details. " +
			"Whether it changed anything is not known: the same _meta.callId gets the answer and does nothing twice; without one, look before you call again")
	default:
		return internal(text)
	}
}

// rawJSON keeps JSON text as it is.
func rawJSON(doc []byte) json.RawMessage { return json.RawMessage(doc) }
