package httpapi

import (
	"net/http"

	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/mcp"
)

// HeaderSession is how an MCP client with the operator's token speaks as a session;
// over /tools/invoke the body says it.
const HeaderSession = "X-Openclaw-Session-Key"

// serveMCP puts the caller into the request's context, where package mcp looks.
func (a *API) serveMCP(next http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, who *gateway.Identity) {
		caller, err := a.caller(r, who, r.Header.Get(HeaderSession))
		if err != nil {
			a.fail(w, a.problem(err))
			return
		}
		if r.Method == http.MethodPost {
			body, no := a.body(w, r, mcp.MaxMessage)
			if no != nil {
				a.fail(w, no)
				return
			}
			r.Body = bytesBody(body)
		}
		next.ServeHTTP(w, r.WithContext(mcp.WithCaller(r.Context(), who.ID, caller)))
	}
}
