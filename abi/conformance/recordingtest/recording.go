package recordingtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// Recording is the ABI conversation between host and plugin in one vector. A host in
// any language replays it with the same module: it calls the export with the recorded
// input, compares each host call's request with the recorded one, answers with the
// recorded reply, and compares the output. Documents are compared as JSON, numbers by
// value.
type Recording struct {
	ID        string     `json:"id"` // the vector's
	Exchanges []Exchange `json:"exchanges"`
}

// Exchange is one call of an export. Its JSON documents are compact.
type Exchange struct {
	Export string          `json:"export"`
	Input  json.RawMessage `json:"input"`
	Calls  []HostCall      `json:"calls"` // in order
	Output json.RawMessage `json:"output"`
}

// HostCall is one host call of an exchange.
type HostCall struct {
	Namespace string          `json:"family"` // store, agent or deliver
	Request   json.RawMessage `json:"request"`
	Reply     json.RawMessage `json:"reply"`
}

// Size returns the total length of the recording's JSON documents.
func (r *Recording) Size() (n int) {
	for _, x := range r.Exchanges {
		n += len(x.Input) + len(x.Output)
		for _, c := range x.Calls {
			n += len(c.Request) + len(c.Reply)
		}
	}
	return n
}

// Derives reports whether the recording with this id calls the export derive. Those
// recordings are written by hand, because no vector calls derive.
func Derives(id string) bool { return strings.HasPrefix(id, abi.ExportDerive+"/") }

// Diff compares two recordings and returns one line per difference.
func (r *Recording) Diff(want *Recording) []string {
	g, err1 := r.parsed()
	w, err2 := want.parsed()
	if err := errors.Join(err1, err2); err != nil {
		return []string{err.Error()}
	}
	return vector.Diff(g, w)
}

func (r *Recording) parsed() (any, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", r.ID, err)
	}
	return jsonvalue.Parse(text)
}
