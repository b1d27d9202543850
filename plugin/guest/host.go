// Package guest is the plugin's side of the boundary: the transport to the host,
// the typed client of the host functions on top of it, and the input of a step.
//
// Replies are trusted to be JSON, because the host made them, but neither to be
// complete nor to have the expected shape: what is missing or of another type
// reads as absent, and a reply that is cut off or lacks its essentials is a
// *Fault with code internal. Whatever a reply is, reading it ends without a panic. Byte slices
// and strings that the client returns are parts of the reply.
package guest

import (
	"errors"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Host carries one request to the family of host functions (abi.ImportStore …)
// and brings its reply. The reply belongs to the caller: the host never writes
// to it again. The request belongs to the host only during the call.
type Host interface {
	Call(family string, request []byte) (reply []byte)
}

// Fault is what a step ends with when the host refused a request or gave a reply
// without meaning: a failure of the protocol, not of the tool (S0.1 does not
// apply). The step returns it as its error.
type Fault struct {
	Err *abi.Error
}

func (f *Fault) Error() string { return f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

func fault(code abi.Code, message string) error {
	return &Fault{Err: abi.NewError(code, message)}
}

// refusal reads the host's {code, message}.
func refusal(family, op string, v gjson.Result) error {
	e := &abi.Error{}
	e.ReadJSON(v, jsonobject.Tolerant)
	if !e.Code.Known() {
		e.Code = abi.Internal
	}
	if e.Message == "" {
		e.Message = "the host refused " + family + "." + op
	}
	return &Fault{Err: e}
}

// Refusal tells the refusals of the host that a tool can answer from failures of
// the step: Forbidden and NotFound, and what else the caller names.
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
