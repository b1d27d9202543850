package httpapi

import (
	"net/http"

	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/mcp"
)

// HeaderSession names the header with the key of a session. An MCP client with the
// operator's token acts as this session. Requests to /tools/invoke name it in the body.
const HeaderSession = "X-Openclaw-Session-Key"

// serveMCP passes the caller to package mcp in the request's context.
func (a *API) serveMCP(next http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, identity *gateway.Identity) {
		caller, err := a.caller(r, identity, r.Header.Get(HeaderSession))
		if err != nil {
			a.fail(w, a.problem(err))
			return
		}
		if r.Method == http.MethodPost {
			body, failure := a.body(w, r, mcp.MaxMessage)
			if failure != nil {
				a.fail(w, failure)
				return
			}
			r.Body = bytesBody(body)
		}
		next.ServeHTTP(w, r.WithContext(mcp.WithCaller(r.Context(), identity.ID, caller)))
	}
}
