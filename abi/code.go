package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Code is the kind of a failure. Programs compare codes; texts are for people. A Code
// is itself an error, so that errors.Is(err, abi.NotFound) works on every wrapped
// *Error.
type Code string

const (
	InvalidArgs Code = "invalid_args" // the request is malformed or an argument is wrong
	NotFound    Code = "not_found"    // the named object does not exist, or the caller may not see it
	Forbidden   Code = "forbidden"    // a setting or the kind of call forbids the operation
	Conflict    Code = "conflict"     // state that the step relied on has changed, or does not allow the operation
	Limit       Code = "limit"        // a limit of the sandbox was exceeded
	Unsupported Code = "unsupported"  // unknown to this version
	Internal    Code = "internal"     // everything else; details are in the host's log
)

func (c Code) Error() string { return string(c) }

// Known reports whether c is one of the codes above. An unknown code crosses the
// boundary as Internal.
func (c Code) Known() bool {
	switch c {
	case InvalidArgs, NotFound, Forbidden, Conflict, Limit, Unsupported, Internal:
		return true
	}
	return false
}

// Error is a failure with a code and a text for people. It matches its code with
// errors.Is and unwraps to its cause. The cause never crosses the boundary.
type Error struct {
	Code    Code
	Message string
	Cause   error
}

// NewError returns an *Error without a cause.
func NewError(code Code, message string) *Error {
	return &Error{Code: code, Message: message}
}

func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

// Is reports whether target is the error's code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

func (e *Error) Unwrap() error { return e.Cause }

var errorMembers = jsonobject.New(
	jsonobject.Required("code", text, func(e *Error) any { return (*string)(&e.Code) }),
	jsonobject.Required("message", text, func(e *Error) any { return &e.Message }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (e *Error) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return errorMembers.Read(v, e, mode)
}

// AppendJSON appends the code and the message.
func (e *Error) AppendJSON(b []byte) []byte { return errorMembers.Append(b, e) }

// AppendError appends {"error": {code, message}}, the output of a failed step or the
// refusal of a host function. An unknown code becomes Internal.
func AppendError(b []byte, code Code, message string) []byte {
	if !code.Known() {
		code = Internal
	}
	return append(NewError(code, message).AppendJSON(append(b, `{"error":`...)), '}')
}
