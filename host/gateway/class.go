package gateway

import (
	"errors"
	"log/slog"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Class classifies an error for a client. Each front end maps it to its own protocol.
type Class int

// Classes. The text of an Internal error is for the log only.
const (
	Internal    Class = iota
	Invalid           // malformed request
	Forbidden         // the client lacks the permission
	NotFound          // the object does not exist, or does not support the operation
	Conflict          // not possible in the current state
	Limit             // a limit was exceeded
	Full              // the disk is full, and nothing was accepted
	Busy              // too many requests in progress
	Unavailable       // the gateway is stopping; the next gateway resumes the work
	Gone              // the client has disconnected and receives no answer
)

// Classify returns the class of an error and its text for the client. The text is empty
// for Internal, Full and Gone. Only Request.Cause makes errors of class Gone. Any other
// context error comes from a deadline or cancellation by the gateway itself, and is
// Internal: the client may still be connected and receives an answer.
func Classify(err error) (Class, string) {
	var e *abi.Error
	switch {
	case errors.Is(err, errGone):
		return Gone, ""
	case errors.Is(err, store.ErrFull):
		return Full, ""
	case errors.Is(err, ErrBusy):
		return Busy, ErrBusy.Error()
	case errors.Is(err, ErrClosing):
		return Unavailable, ErrClosing.Error()
	case errors.As(err, &e):
		if c := classOf(e.Code); c != Internal {
			return c, e.Message
		}
	}
	return Internal, ""
}

func classOf(code abi.Code) Class {
	switch code {
	case abi.InvalidArgs:
		return Invalid
	case abi.Forbidden:
		return Forbidden
	case abi.NotFound, abi.Unsupported:
		return NotFound
	case abi.Conflict:
		return Conflict
	case abi.Limit:
		return Limit
	}
	return Internal
}

// Level returns the log level for a failed request: LevelError for failures that only
// the operator can fix.
func (c Class) Level() slog.Level {
	if c == Internal || c == Full {
		return slog.LevelError
	}
	return slog.LevelInfo
}
