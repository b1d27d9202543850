// Package guest is the plugin's side of the boundary: the transport to the host,
// the typed client of the host functions on top of it, and the input of a step.
//
// The client assumes that replies are JSON, because the host wrote them, but not that
// they are complete or have the right shape: a member that is missing or has another type reads
// as absent, and a reply that is truncated or lacks an essential member is a *Fault
// with code internal. No reply causes a panic. Byte slices and strings that the
// client returns are parts of the reply.
package guest

import (
	"errors"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Host calls host functions. Call sends one request to a namespace of host functions
// (abi.ImportStore …) and returns the reply. The reply belongs to the caller: the host
// must not write to it again. The host may use the request only during the call.
type Host interface {
	Call(namespace string, request []byte) (reply []byte)
}

// Fault is an error that fails the step: the host refused a request, or its reply, the
// settings or the stored state are malformed. The step returns it as its error, not as a
// tool result with a status (S0.1).
type Fault struct {
	Err *abi.Error
}

func (f *Fault) Error() string { return f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

func fault(code abi.Code, message string) error {
	return &Fault{Err: abi.NewError(code, message)}
}

// refusal returns the host's error, {code, message}, as a Fault.
func refusal(namespace, op string, v gjson.Result) error {
	e := &abi.Error{}
	e.ReadJSON(v, jsonobject.Tolerant)
	if !e.Code.Known() {
		e.Code = abi.Internal
	}
	if e.Message == "" {
		e.Message = "the host refused " + namespace + "." + op
	}
	return &Fault{Err: e}
}

// Refusal distinguishes refusals by the host, which a tool reports in its result, from
// errors that fail the step. It returns a *Fault with code Forbidden, NotFound or a code
// in also as the refusal, and any other error unchanged.
func Refusal(err error, also ...abi.Code) (*abi.Error, error) {
	var f *Fault
	if errors.As(err, &f) {
		for _, code := range append(also, abi.Forbidden, abi.NotFound) {
			if f.Err.Code == code {
				return f.Err, nil
			}
		}
	}
	return nil, err
}
