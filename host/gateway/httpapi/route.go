package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
)

// endpoint handles one method of a path.
type endpoint struct {
	method, path string // the path may have one segment {id}
	// operator, if set, describes the operation and makes it require the operator's token.
	operator string
	open     bool // no credentials required
	// do answers an admitted request with JSON. The request's body has at most maxBody
	// bytes; values below defaultMaxBody mean defaultMaxBody.
	do      operation
	maxBody int64
	// handler, if set, answers instead of do, and admits the request itself if necessary.
	handler handler
}

// operation answers a request with JSON. Its errors are *abi.Error if the client can fix
// the request.
type operation func(in *input) ([]byte, error)

// handler answers a request of an identity, which is nil for an open endpoint.
type handler func(http.ResponseWriter, *http.Request, *gateway.Identity)

// input is the part of a request that operations use.
type input struct {
	*gateway.Request
	body      []byte
	query     url.Values
	pathID    string // the segment {id}
	requestID string // Idempotency-Key
	caller    abi.Caller
}

// route is the set of a path's endpoints.
type route struct {
	methods   []string // in the order in which they were added
	endpoints map[string]*endpoint
}

func (a *API) add(all ...endpoint) {
	for _, e := range all {
		to := a.routes[e.path]
		if to == nil {
			to = &route{endpoints: map[string]*endpoint{}}
			a.routes[e.path] = to
		}
		to.methods = append(to.methods, e.method)
		to.endpoints[e.method] = &e
	}
}

// find returns the route of a URL, with the segment {id}, or nil.
func (a *API) find(u *url.URL) (to *route, id string) {
	for path, to := range a.routes {
		if id, ok := match(path, u); ok {
			return to, id
		}
	}
	return nil, ""
}

func match(path string, u *url.URL) (id string, ok bool) {
	before, after, variable := strings.Cut(path, "{id}")
	if !variable {
		return "", path == u.Path
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), before)
	if !ok {
		return "", false
	}
	if rest, ok = strings.CutSuffix(rest, after); !ok || rest == "" || strings.Contains(rest, "/") {
		return "", false
	}
	id, err := url.PathUnescape(rest)
	return id, err == nil
}

// dispatch finds the endpoint and the identity of a request, and calls the endpoint.
func (a *API) dispatch(w http.ResponseWriter, r *http.Request) {
	to, id := a.find(r.URL)
	if to == nil {
		a.fail(w, a.unknownPath())
		return
	}
	e := to.endpoints[r.Method]
	if e == nil {
		allowed := strings.Join(to.methods, ", ")
		w.Header().Set("Allow", allowed)
		a.fail(w, newProblem(http.StatusMethodNotAllowed, kindMethod, "use "+allowed, abi.Unsupported))
		return
	}
	if e.open {
		e.handler(w, r, nil)
		return
	}
	identity, err := a.admission.Identify(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		a.fail(w, newProblem(http.StatusUnauthorized, kindUnauthorized, err.Error(), abi.Forbidden))
		return
	}
	if e.operator != "" && !identity.Caller.Operator {
		a.forbid(w, fmt.Sprintf("%s requires the operator's token, and this token is for session %s; use the operator's token, or the session tools at /tools/invoke",
			e.operator, identity.Caller.SessionKey))
		return
	}
	if e.handler != nil {
		e.handler(w, r, identity)
		return
	}
	a.operate(w, r, identity, e, id)
}

// operate admits a request and answers it with the endpoint's operation.
func (a *API) operate(w http.ResponseWriter, r *http.Request, identity *gateway.Identity, e *endpoint, id string) {
	request, body, ok := a.enter(w, r, max(e.maxBody, defaultMaxBody))
	if !ok {
		return
	}
	defer request.Done()
	key, err := requestID(r)
	var doc []byte
	if err == nil {
		doc, err = e.do(&input{Request: request, body: body, query: r.URL.Query(), pathID: id, requestID: key, caller: identity.Caller})
		err = request.Cause(err)
	}
	switch {
	case err == nil:
		send(w, http.StatusOK, doc)
	case r.Context().Err() == nil: // the client is still connected
		class, _ := gateway.Classify(err)
		a.logger.Log(r.Context(), class.Level(), "httpapi: request failed", "path", r.URL.Path, "session", identity.Caller.SessionKey, "error", err)
		a.fail(w, a.problem(err))
	}
}

// enter admits a request and reads its body. If that fails, it answers the request with
// the error and returns false.
func (a *API) enter(w http.ResponseWriter, r *http.Request, maxBody int64) (request *gateway.Request, body []byte, ok bool) {
	request, err := a.admission.Enter(r.Context())
	if err != nil {
		a.fail(w, a.problem(err))
		return nil, nil, false
	}
	body, failure := a.body(w, r, maxBody)
	if failure != nil {
		request.Done()
		a.fail(w, failure)
		return nil, nil, false
	}
	return request, body, true
}

// HeaderIdempotency names the header that identifies a call or a message, so that the
// client can repeat it (S4.4).
const HeaderIdempotency = "Idempotency-Key"

// requestID returns the client's id for the request, or "" (S4.4).
func requestID(r *http.Request) (string, error) {
	id := strings.TrimSpace(r.Header.Get(HeaderIdempotency))
	return id, host.CheckCallID("the header "+HeaderIdempotency, id)
}
