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

// callID is the member of _meta that contains the call's id.
const callID = "callId"

// callerExtra is the key of the caller in a request's token information.
const callerExtra = "parley.caller"

func tokenInfo(id string, c abi.Caller) *auth.TokenInfo {
	return &auth.TokenInfo{UserID: id, Extra: map[string]any{callerExtra: c}}
}

// callerOf returns the caller that the transport has set for a request. It fails if the
// request has no caller.
func callerOf(r sdk.Request) (abi.Caller, error) {
	if x := r.GetExtra(); x != nil && x.TokenInfo != nil {
		if c, ok := x.TokenInfo.Extra[callerExtra].(abi.Caller); ok {
			return c, nil
		}
	}
	return abi.Caller{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "unauthenticated request"}
}

// call answers one tool call. If the request is cancelled or its connection is lost, only
// the request's wait ends, not the call.
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
		s.logger.Error("mcp: result is not JSON", "tool", r.Params.Name, "call", answer.CallID, "error", err)
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

// protocolError converts err to a JSON-RPC error. It reveals only errors that the client
// can fix.
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
			"It may have taken effect: repeat it with the same _meta.callId, which returns its answer without executing it twice; if you sent none, check the effect before you call again")
	default:
		return internal(text)
	}
}

// rawJSON marks text that is JSON already, so that the SDK does not encode it again.
func rawJSON(doc []byte) json.RawMessage { return json.RawMessage(doc) }
