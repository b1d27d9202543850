package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
)

// cachePrivate is the cacheScope of what is for its caller alone.
const cachePrivate = "private"

// listed leaves out of the lists of tools, which the SDK has one of, what their
// caller may not use.
func (s *Server) listed(next sdk.MethodHandler) sdk.MethodHandler {
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
			return nil, s.unlisted(ctx, err)
		}
		list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool {
			return !slices.ContainsFunc(tools, func(may abi.Tool) bool { return may.Name == t.Name })
		})
		list.CacheScope = cachePrivate
		return list, nil
	}
}

// unlisted is the error of a list of tools that could not be made: of a client that has
// gone, the context's.
func (s *Server) unlisted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	class, _ := gateway.Classify(err)
	s.logger.Log(ctx, class.Level(), "mcp: tools were not listed", "error", err)
	return protocolError(err)
}
