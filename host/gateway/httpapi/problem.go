package httpapi

import (
	"errors"
	"net/http"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/gateway"
)

// Kinds of problem: the member type of an error.
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
	code    abi.Code // for the processes of one user alone
}

// kinds are the status and kind of a class of error.
var kinds = map[gateway.Class]struct {
	status int
	kind   string
}{
	gateway.Invalid:     {http.StatusBadRequest, kindInvalid},
	gateway.Forbidden:   {http.StatusForbidden, kindForbidden},
	gateway.NotFound:    {http.StatusNotFound, kindNotFound},
	gateway.Conflict:    {http.StatusConflict, kindConflict},
	gateway.Limit:       {http.StatusTooManyRequests, kindTooMany},
	gateway.Full:        {http.StatusInsufficientStorage, kindFull},
	gateway.Busy:        {http.StatusTooManyRequests, kindTooMany},
	gateway.Unavailable: {http.StatusServiceUnavailable, kindUnavailable},
}

// Texts for the network of classes of error that have none.
const (
	textFull     = "the gateway's disk is full and nothing was accepted: send it again when there is room, with the same " + HeaderIdempotency
	textInternal = "tool execution failed; the gateway's log has the details"
)

// problem returns what a client reads of an error. To the network it says only what
// the client can change; the rest is in the log.
func (a *API) problem(err error) problem {
	class, text := gateway.Classify(err)
	kind, ok := kinds[class]
	switch {
	case !ok:
		kind.status, kind.kind, text = http.StatusInternalServerError, kindTool, textInternal
	case class == gateway.Full:
		text = textFull
	}
	p := problem{kind.status, kind.kind, text, abi.Internal}
	if a.local {
		p.message = err.Error()
		if e := (*abi.Error)(nil); errors.As(err, &e) {
			p.code = e.Code
		}
	}
	return p
}

// fail writes a problem.
func (a *API) fail(w http.ResponseWriter, p problem) {
	if p.status == http.StatusServiceUnavailable {
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
	a.fail(w, problem{http.StatusForbidden, kindForbidden, message, abi.Forbidden})
}
