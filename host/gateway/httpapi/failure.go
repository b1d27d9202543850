package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway/waiting"
	"github.com/parley-wasm/parley/host/internal/invoke"
	"github.com/parley-wasm/parley/host/store"
)

// Types of error beside those of package invoke.
const (
	conflict    = "conflict"
	unavailable = "unavailable"
	full        = "insufficient_storage"
)

// failure is the reply to a request that was not done. Only what the client can
// change is told; the rest is in the log.
func failure(err error) invoke.Reply {
	var e *abi.Error
	switch {
	case errors.Is(err, store.ErrFull):
		return invoke.Failure(http.StatusInsufficientStorage, full,
			"the gateway's disk is full and nothing was accepted: send it again when there is room, with the same "+HeaderIdempotency)
	case !errors.As(err, &e):
	case e.Code == abi.Conflict:
		return invoke.Failure(http.StatusConflict, conflict, e.Message)
	case e.Code == abi.Limit:
		return invoke.Failure(http.StatusTooManyRequests, invoke.TooManyRequests, e.Message)
	}
	return invoke.Fault(err)
}

// callFailure is the reply to a tool call that got no answer. A read-only call
// that went over a limit shows nothing of the sandbox; one that writes was
// accepted before, and the client must know what became of it.
func callFailure(tool *abi.Tool, err error) invoke.Reply {
	var e *abi.Error
	if errors.As(err, &e) && e.Code == abi.Limit && !errors.Is(err, store.ErrFull) {
		if tool.ReadOnly {
			return invoke.Fault(err)
		}
		return invoke.Failure(http.StatusInternalServerError, invoke.ToolError, e.Message)
	}
	return failure(err)
}

// severity is how loud a request that was not done is logged: an error is what
// whoever runs the gateway can change, and no client can.
func severity(err error) slog.Level {
	var e *abi.Error
	switch {
	case errors.Is(err, store.ErrFull):
	case errors.As(err, &e) && e.Code != abi.Internal, errors.Is(err, context.Canceled):
		return slog.LevelInfo
	}
	return slog.LevelError
}

// cutOff answers a request whose wait the end of the gateway cut off.
func cutOff(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	write(w, invoke.Failure(http.StatusServiceUnavailable, unavailable, waiting.ErrClosing.Error()))
}
