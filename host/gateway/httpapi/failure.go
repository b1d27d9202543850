package httpapi

import (
	"errors"
	"net/http"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway/waiting"
	"github.com/parley-wasm/parley/host/openclaw/invoke"
)

// Types of error beside those of package invoke.
const (
	conflict    = "conflict"
	unavailable = "unavailable"
)

// failure is the reply to a request that was not done. Only what the client can
// change is told; the rest is in the log.
func failure(err error) invoke.Reply {
	var e *abi.Error
	if !errors.As(err, &e) {
		return invoke.Fault(err)
	}
	if e == errTooLong {
		return invoke.Failure(http.StatusRequestEntityTooLarge, invoke.TooLarge, e.Message)
	}
	switch e.Code {
	case abi.Conflict:
		return invoke.Failure(http.StatusConflict, conflict, e.Message)
	case abi.Limit:
		return invoke.Failure(http.StatusTooManyRequests, invoke.TooManyRequests, e.Message)
	}
	return invoke.Fault(err)
}

// callFailure is the reply to a tool call that got no answer. A read-only call
// that went over a limit shows nothing of the sandbox; one that writes was
// accepted before, and the client must know what became of it.
func callFailure(tool *abi.Tool, err error) invoke.Reply {
	var e *abi.Error
	if errors.As(err, &e) && e.Code == abi.Limit {
		if tool.ReadOnly {
			return invoke.Fault(err)
		}
		return invoke.Failure(http.StatusInternalServerError, invoke.ToolError, e.Message)
	}
	return failure(err)
}

// cutOff answers a request whose wait the end of the gateway cut off.
func cutOff(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	write(w, invoke.Failure(http.StatusServiceUnavailable, unavailable, waiting.ErrClosing.Error()))
}
