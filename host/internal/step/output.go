package step

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// parseResult validates a step's output, which is untrusted.
func parseResult(output []byte, readOnly bool) (*Result, error) {
	if err := jsonstrict.Check(output); err != nil {
		return nil, badOutput("is not strict JSON: " + err.Error())
	}
	r, doc := &Result{}, gjson.ParseBytes(output)
	p := r.StepResult.ReadJSON(doc, jsonobject.Strict)
	if readOnly && r.Wait != nil {
		return nil, abi.NewError(abi.Forbidden, "step: a read-only tool may not wait")
	}
	if p != nil {
		if p.Fault == jsonobject.Unknown && p.Path == "" && p.Name == "error" {
			return nil, failure(doc)
		}
		return nil, badOutput(describe(p))
	}
	switch {
	case readOnly && r.Result == nil:
		return nil, badOutput("has no result object")
	case doc.Get("code").Exists() && (r.Result == nil || !r.Code.Known()):
		return nil, badOutput(fmt.Sprintf("has the code %q, which is unknown or has no result", r.Code))
	case len(r.Note) > abi.MaxNote:
		return nil, badOutput(badNote)
	case r.Wait != nil && r.Wait.Run == "" && r.Wait.Until == 0:
		return nil, badOutput(badWait + "nothing would end it")
	case r.Wait != nil && len(r.Wait.State) > abi.MaxState:
		return nil, badOutput(fmt.Sprintf("%sstate is %d bytes; at most %d are kept", badWait, len(r.Wait.State), abi.MaxState))
	}
	return r, nil
}

const badWait = "has an invalid wait: "

var badNote = fmt.Sprintf("has a note that is not a text of at most %d bytes", abi.MaxNote)

// describe returns the error text for a result that does not match its schema.
func describe(p *jsonobject.Problem) string {
	prefix := ""
	if p.Path != "" {
		prefix = badWait
	}
	switch {
	case p.Document():
		return "is not an object"
	case p.Fault == jsonobject.Unknown && prefix == "":
		return fmt.Sprintf("has an unknown member %q", p.Name)
	case p.Fault == jsonobject.Unknown:
		return fmt.Sprintf("%sit has an unknown member %q", prefix, p.Name)
	case p.Fault == jsonobject.Missing:
		return prefix + "state or stateVersion is missing"
	}
	switch p.Name {
	case "run":
		return prefix + "run is not an id"
	case "until":
		return prefix + "until is not a time"
	case "stateVersion":
		return prefix + "stateVersion is not a version"
	case "code":
		return "has a code that is not a text"
	case "note":
		return badNote
	}
	return "has a " + p.Name + " that is not an object"
}

// failure returns the error that an output reports.
func failure(doc gjson.Result) error {
	members := 0
	doc.ForEach(func(_, _ gjson.Result) bool {
		members++
		return true
	})
	if members > 1 {
		return badOutput("has an error beside a result")
	}
	return stepError(doc.Get("error"))
}

// stepError returns the plugin's own error. An unknown code becomes abi.Internal.
func stepError(v gjson.Result) error {
	e := &abi.Error{}
	e.ReadJSON(v, jsonobject.Tolerant)
	if !e.Code.Known() {
		return abi.NewError(abi.Internal, clip(fmt.Sprintf("step: the plugin failed with the unknown code %.60q: %s", e.Code, e.Message)))
	}
	return abi.NewError(e.Code, clip(e.Message))
}

func badOutput(what string) error {
	return abi.NewError(abi.Internal, clip("step: the plugin's output "+what))
}

// maxErrorText is the maximum length in bytes of the text of a plugin's error, which is
// logged, stored in the flow, and returned to the caller.
const maxErrorText = 4 << 10

func clip(text string) string {
	if len(text) > maxErrorText {
		return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}
