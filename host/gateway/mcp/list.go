package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
)

// cachePrivate is the cacheScope of results that must not be shared between callers.
const cachePrivate = "private"

// filterTools is a middleware that filters the SDK's list of tools, which is the same for
// all callers. It removes the tools that the caller may not use.
func (s *Server) filterTools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		list, ok := result.(*sdk.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		caller, err := callerOf(r)
		if err != nil {
			return nil, err
		}
		tools, err := s.tools.ToolsFor(ctx, caller)
		if err != nil {
			return nil, s.listError(ctx, err)
		}
		list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool {
			return !slices.ContainsFunc(tools, func(may abi.Tool) bool { return may.Name == t.Name })
		})
		list.CacheScope = cachePrivate
		return list, nil
	}
}

// listError returns the error of a failed list of tools: the context's error if the client
// has disconnected.
func (s *Server) listError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	class, _ := gateway.Classify(err)
	s.logger.Log(ctx, class.Level(), "mcp: listing tools failed", "error", err)
	return protocolError(err)
}
