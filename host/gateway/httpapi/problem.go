package httpapi

import (
	"errors"
	"net/http"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/gateway"
)

// Kinds of problem: values of the member "type" of an error.
const (
	kindTool         = "tool_error"
	kindInvalid      = "invalid_request"
	kindUnauthorized = "unauthorized"
	kindForbidden    = "forbidden"
	kindNotFound     = "not_found"
	kindMethod       = "method_not_allowed"
	kindTooLarge     = "payload_too_large"
	kindTooMany      = "too_many_requests"
	kindTimeout      = "timeout"
	kindConflict     = "conflict"
	kindUnavailable  = "unavailable"
	kindFull         = "insufficient_storage"
	kindInternal     = "internal"
)

// problem is the answer to a request that failed.
type problem struct {
	status  int
	kind    string
	message string
	code    abi.Code // sent on the socket only
	retry   bool     // the same request may succeed in a second
}

func newProblem(status int, kind, message string, code abi.Code) *problem {
	return &problem{status: status, kind: kind, message: message, code: code}
}

// problems maps classes of error to problems without message and code.
var problems = map[gateway.Class]problem{
	gateway.Invalid:     {status: http.StatusBadRequest, kind: kindInvalid},
	gateway.Forbidden:   {status: http.StatusForbidden, kind: kindForbidden},
	gateway.NotFound:    {status: http.StatusNotFound, kind: kindNotFound},
	gateway.Conflict:    {status: http.StatusConflict, kind: kindConflict},
	gateway.Limit:       {status: http.StatusTooManyRequests, kind: kindTooMany},
	gateway.Full:        {status: http.StatusInsufficientStorage, kind: kindFull},
	gateway.Busy:        {status: http.StatusTooManyRequests, kind: kindTooMany, retry: true},
	gateway.Unavailable: {status: http.StatusServiceUnavailable, kind: kindUnavailable, retry: true},
}

// Messages to the network for classes of error for which Classify returns no text.
const (
	textFull     = "the gateway's disk is full and nothing was accepted: send it again when there is room, with the same " + HeaderIdempotency
	textInternal = "tool execution failed; the gateway's log has the details"
)

// problem translates an error for the client. For the network it reveals only errors that
// the client can fix; details of the others are in the log.
func (a *API) problem(err error) *problem {
	class, text := gateway.Classify(err)
	p, ok := problems[class]
	switch {
	case !ok:
		p.status, p.kind, text = http.StatusInternalServerError, kindTool, textInternal
	case class == gateway.Full:
		text = textFull
	}
	p.message, p.code = text, abi.Internal
	if a.local {
		p.message = err.Error()
		if e := (*abi.Error)(nil); errors.As(err, &e) {
			p.code = e.Code
		}
	}
	return &p
}

// fail answers a request with a problem.
func (a *API) fail(w http.ResponseWriter, p *problem) {
	if p.retry {
		w.Header().Set("Retry-After", "1")
	}
	o := jsonappend.Open(nil)
	o.Raw("ok", []byte("false"))
	e := jsonappend.Open(o.Key("error"))
	e.String("type", p.kind)
	if a.local {
		e.String("code", string(p.code))
	}
	e.String("message", p.message)
	o.Value(e.Close())
	send(w, p.status, o.Close())
}

func (a *API) forbid(w http.ResponseWriter, message string) {
	a.fail(w, newProblem(http.StatusForbidden, kindForbidden, message, abi.Forbidden))
}
