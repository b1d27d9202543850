package step

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// parseResult checks a step's output, which the sandbox does not vouch for.
func parseResult(output []byte, readOnly bool) (*Result, error) {
	if err := jsonstrict.Check(output); err != nil {
		return nil, bad("is not strict JSON: " + err.Error())
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
		return nil, bad(describe(p))
	}
	switch {
	case readOnly && r.Result == nil:
		return nil, bad("has no result object")
	case doc.Get("code").Exists() && (r.Result == nil || !r.Code.Known()):
		return nil, bad(fmt.Sprintf("has the code %q without a result, or an unknown one", r.Code))
	case len(r.Note) > abi.MaxNote:
		return nil, bad(badNote)
	case r.Wait != nil && r.Wait.Run == "" && r.Wait.Until == 0:
		return nil, bad(badWait + "nothing would end it")
	case r.Wait != nil && len(r.Wait.State) > abi.MaxState:
		return nil, bad(fmt.Sprintf("%sstate is %d bytes; at most %d are kept", badWait, len(r.Wait.State), abi.MaxState))
	}
	return r, nil
}

const badWait = "has a wait that cannot be: "

var badNote = fmt.Sprintf("has a note that is no text of at most %d bytes", abi.MaxNote)

// describe says what is wrong with a result.
func describe(p *jsonobject.Problem) string {
	of := ""
	if p.Path != "" {
		of = badWait
	}
	switch {
	case p.Document():
		return "is not an object"
	case p.Fault == jsonobject.Unknown && of == "":
		return fmt.Sprintf("has an unknown member %q", p.Name)
	case p.Fault == jsonobject.Unknown:
		return fmt.Sprintf("%sit has an unknown member %q", of, p.Name)
	case p.Fault == jsonobject.Missing:
		return of + "it has no state, or no version of it"
	}
	switch p.Name {
	case "run":
		return of + "run is no id"
	case "until":
		return of + "until is no time"
	case "stateVersion":
		return of + "stateVersion is no version"
	case "code":
		return "has a code that is no text"
	case "note":
		return badNote
	}
	return "has a " + p.Name + " that is no object"
}

// failure is the error of a step that failed.
func failure(doc gjson.Result) error {
	members := 0
	doc.ForEach(func(_, _ gjson.Result) bool {
		members++
		return true
	})
	if members > 1 {
		return bad("has an error beside a result")
	}
	return stepError(doc.Get("error"))
}

// stepError is the plugin's own refusal. An unknown code crosses as internal.
func stepError(v gjson.Result) error {
	e := &abi.Error{}
	e.ReadJSON(v, jsonobject.Tolerant)
	if !e.Code.Known() {
		return abi.NewError(abi.Internal, clip(fmt.Sprintf("step: the plugin failed with the unknown code %.60q: %s", e.Code, e.Message)))
	}
	return abi.NewError(e.Code, clip(e.Message))
}

func bad(what string) error {
	return abi.NewError(abi.Internal, clip("step: the plugin's output "+what))
}

// maxErrorText bounds what a plugin can have the host say of it, in bytes: that goes to
// the log, into the flow, and to the caller.
const maxErrorText = 4 << 10

func clip(text string) string {
	if len(text) > maxErrorText {
		return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}
