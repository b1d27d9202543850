package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-wasm/parley/abi"
)

// sessionTimeout is the time after which an MCP session without requests ends.
const sessionTimeout = 24 * time.Hour

// sessionless is the first protocol version without sessions. Requests of this and later
// versions need a stateless handler of the SDK.
const sessionless = "2026-07-28"

type contextKey struct{}

type identity struct {
	id     string
	caller abi.Caller
}

// WithCaller returns a context for a request to Handler. The context contains the caller
// and the id of its identity. An MCP session accepts only requests of the identity that
// opened it.
func WithCaller(ctx context.Context, id string, c abi.Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, &identity{id, c})
}

// Handler returns a handler for streamable HTTP. It does not check credentials: each
// request's context must contain the caller (WithCaller). Other requests are refused.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	handler := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
			Stateless:                    stateless,
			Logger:                       s.logger,
			SessionTimeout:               sessionTimeout,
			MaxRequestBodyBytes:          MaxMessage,
			PropagateRequestCancellation: true,
			// The gateway checks Host and Origin for all paths.
			DisableLocalhostProtection: true,
		})
	}
	sessions, requests := handler(false), handler(true)
	return identified(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !strict(w, r) {
			return
		}
		if r.Header.Get("Mcp-Protocol-Version") >= sessionless {
			requests.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	}))
}

// identified passes the caller and its identity to the SDK. The SDK attaches the caller to
// each request, and binds sessions to the identity. It does not see the client's token.
func identified(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		i := ctx.Value(contextKey{}).(*identity)
		return tokenInfo(i.id, i.caller), nil
	}
	bearer := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Context().Value(contextKey{}).(*identity); !ok {
			http.Error(w, "unauthenticated request", http.StatusUnauthorized)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer verified")
		bearer.ServeHTTP(w, r)
	})
}

// strict reads the body and reports whether it is strict JSON. Otherwise it refuses the
// request.
func strict(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		refuse(w, http.StatusRequestEntityTooLarge, &refusal{jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxMessage), "null"})
		return false
	case err != nil:
		refuse(w, http.StatusBadRequest, &refusal{jsonrpc.CodeInvalidRequest, "the body could not be read", "null"})
		return false
	}
	if refused := check(body); refused != nil {
		refuse(w, http.StatusBadRequest, refused)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

func refuse(w http.ResponseWriter, status int, r *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(r.appendJSON(nil)) // fails only if the client has disconnected
}
