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

// sessionTimeout ends MCP sessions in which nothing was asked for so long.
const sessionTimeout = 24 * time.Hour

// sessionless is the first protocol version without sessions. The SDK serves it
// and its predecessors with two kinds of handler.
const sessionless = "2026-07-28"

type contextKey struct{}

type identity struct {
	id     string
	caller abi.Caller
}

// WithCaller returns a context for the requests of an HTTP handler: who calls,
// and the id of who opened the connection. An MCP session is only for the id
// that opened it.
func WithCaller(ctx context.Context, id string, c abi.Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, &identity{id, c})
}

// Handler serves streamable HTTP. It looks for no credentials itself: each
// request's context says who calls (WithCaller), and one that does not is
// refused.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	handler := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
			Stateless:                    stateless,
			Logger:                       s.logger,
			SessionTimeout:               sessionTimeout,
			MaxRequestBodyBytes:          MaxMessage,
			PropagateRequestCancellation: true,
			// The gateway checks Host and Origin for all its paths.
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

// identified hands the caller to the SDK, which passes it on with each request
// and binds sessions to it. The token itself goes no further.
func identified(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		i := ctx.Value(contextKey{}).(*identity)
		return tokenInfo(i.id, i.caller), nil
	}
	bearer := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Context().Value(contextKey{}).(*identity); !ok {
			http.Error(w, "the request comes from nobody", http.StatusUnauthorized)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer verified")
		bearer.ServeHTTP(w, r)
	})
}

// strict reads the body and refuses what is not strict JSON.
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
	if no := check(body); no != nil {
		refuse(w, http.StatusBadRequest, no)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

func refuse(w http.ResponseWriter, status int, no *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(no.appendJSON(nil)) // a client that has gone needs no answer
}
