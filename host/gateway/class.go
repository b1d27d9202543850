package gateway

import (
	"errors"
	"log/slog"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Class is what an error means for a client. Each front end has its own words for it.
type Class int

// Classes. The text of an Internal error is for the log alone.
const (
	Internal    Class = iota
	Invalid           // the request is wrong
	Forbidden         // the client may not do that
	NotFound          // there is no such thing, or nothing that can be done with it
	Conflict          // it cannot be done any more, or not now
	Limit             // it went over a limit
	Full              // the disk is full, and nothing was accepted
	Busy              // too many requests are under way
	Unavailable       // the gateway is stopping: the next one goes on
	Gone              // the client has gone, and needs no answer
)

// Classify returns the class of an error and its text for the client. The text is empty
// for Internal, Full and Gone. Only Request.Ended makes errors of class Gone: any other
// context error comes from a deadline or cancellation of the gateway itself, and is
// Internal, so that a connected client receives an answer.
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

// Level is how a failed request is logged: an error is what the operator can change
// and no client can.
func (c Class) Level() slog.Level {
	if c == Internal || c == Full {
		return slog.LevelError
	}
	return slog.LevelInfo
}
