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

// endpoint is what a method of a path does.
type endpoint struct {
	method, path string // the path may have one segment {id}
	// operator is what it does, if it is for the operator alone.
	operator string
	open     bool // it needs no credentials
	// do answers a request that is let in, with JSON. Its body has at most maxBody bytes.
	do      operation
	maxBody int64
	// handler answers instead of do, all by itself.
	handler handler
}

// operation answers a request with JSON. Its errors are *abi.Error where the client
// can change something.
type operation func(in *input) ([]byte, error)

// handler answers a request of an identity; nil for an endpoint that is open.
type handler func(http.ResponseWriter, *http.Request, *gateway.Identity)

// input is what an operation gets of a request.
type input struct {
	*gateway.Request
	body   []byte
	query  url.Values
	path   string // the segment {id}
	id     string // Idempotency-Key
	caller abi.Caller
}

// route is a path's endpoints.
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

// dispatch finds the endpoint and the identity of a request.
func (a *API) dispatch(w http.ResponseWriter, r *http.Request) {
	to, id := a.find(r.URL)
	if to == nil {
		a.fail(w, a.nowhere())
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
	who, err := a.admission.Identify(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		a.fail(w, newProblem(http.StatusUnauthorized, kindUnauthorized, err.Error(), abi.Forbidden))
		return
	}
	if e.operator != "" && !who.Caller.Operator {
		a.forbid(w, fmt.Sprintf("%s is for the operator alone, and this token stands for the session %s; use the operator's token, or the session tools at /tools/invoke",
			e.operator, who.Caller.SessionKey))
		return
	}
	if e.handler != nil {
		e.handler(w, r, who)
		return
	}
	a.operate(w, r, who, e, id)
}

// operate lets a request in and answers it with the endpoint's operation.
func (a *API) operate(w http.ResponseWriter, r *http.Request, who *gateway.Identity, e *endpoint, id string) {
	request, body, ok := a.enter(w, r, max(e.maxBody, defaultMaxBody))
	if !ok {
		return
	}
	defer request.Done()
	key, err := requestID(r)
	var doc []byte
	if err == nil {
		doc, err = e.do(&input{Request: request, body: body, query: r.URL.Query(), path: id, id: key, caller: who.Caller})
		err = request.Ended(err)
	}
	switch {
	case err == nil:
		send(w, http.StatusOK, doc)
	case r.Context().Err() == nil: // else the client has gone, and needs no answer
		class, _ := gateway.Classify(err)
		a.logger.Log(r.Context(), class.Level(), "httpapi: a request was not done", "path", r.URL.Path, "session", who.Caller.SessionKey, "error", err)
		a.fail(w, a.problem(err))
	}
}

// enter lets a request in and reads its body, or answers why not.
func (a *API) enter(w http.ResponseWriter, r *http.Request, maxBody int64) (request *gateway.Request, body []byte, ok bool) {
	request, err := a.admission.Enter(r.Context())
	if err != nil {
		a.fail(w, a.problem(err))
		return nil, nil, false
	}
	body, no := a.body(w, r, maxBody)
	if no != nil {
		request.Done()
		a.fail(w, no)
		return nil, nil, false
	}
	return request, body, true
}

// HeaderIdempotency names a call or a message, so that it can be sent again (S4.4).
const HeaderIdempotency = "Idempotency-Key"

// requestID is the caller's name for the request, or empty (S4.4).
func requestID(r *http.Request) (string, error) {
	id := strings.TrimSpace(r.Header.Get(HeaderIdempotency))
	return id, host.CheckCallID("the header "+HeaderIdempotency, id)
}
