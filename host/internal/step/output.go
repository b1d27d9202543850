package step

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// parseResult checks a step's output, which the sandbox does not vouch for.
func parseResult(output []byte, readOnly bool) (*Result, error) {
	if err := jsonstrict.Check(output); err != nil {
		return nil, bad("is not strict JSON: " + err.Error())
	}
	out := gjson.ParseBytes(output)
	if !out.IsObject() {
		return nil, bad("is not an object")
	}
	var result, code, wait, note, failure gjson.Result
	var unknown string
	out.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "result":
			result = v
		case "code":
			code = v
		case "wait":
			wait = v
		case "note":
			note = v
		case "error":
			failure = v
		default:
			unknown = name.Str
		}
		return true
	})
	switch {
	case unknown != "":
		return nil, bad(fmt.Sprintf("has an unknown member %q", unknown))
	case failure.Exists():
		if result.Exists() || wait.Exists() || code.Exists() || note.Exists() {
			return nil, bad("has an error beside a result")
		}
		return nil, stepError(failure)
	case readOnly && wait.Exists():
		return nil, abi.NewError(abi.Forbidden, "step: a read-only tool may not wait")
	case readOnly && !result.Exists():
		return nil, bad("has no result object")
	case result.Exists() && !result.IsObject():
		return nil, bad("has a result that is no object")
	case code.Exists() && (!result.Exists() || !abi.Code(code.Str).Known()):
		return nil, bad(fmt.Sprintf("has the code %q without a result, or an unknown one", code.Str))
	case note.Exists() && (note.Type != gjson.String || len(note.Str) > abi.MaxNote):
		return nil, bad(fmt.Sprintf("has a note that is no text of at most %d bytes", abi.MaxNote))
	}
	r := &Result{}
	r.Code, r.Note = abi.Code(code.Str), note.Str
	if result.Exists() {
		r.Result = []byte(result.Raw)
	}
	if wait.Exists() {
		var err error
		if r.Wait, err = parseWait(wait); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func parseWait(v gjson.Result) (*abi.Wait, error) {
	w := &abi.Wait{}
	problem := ""
	if !v.IsObject() {
		return nil, bad("has a wait that is no object")
	}
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "run":
			if w.Run = v.Str; v.Type != gjson.String || w.Run == "" {
				problem = "run is no id"
			}
		case "until":
			if w.Until = v.Int(); v.Type != gjson.Number || w.Until <= 0 {
				problem = "until is no time"
			}
		case "state":
			if w.State = []byte(v.Raw); len(w.State) > abi.MaxState {
				problem = fmt.Sprintf("state is %d bytes; at most %d are kept", len(w.State), abi.MaxState)
			}
		case "stateVersion":
			if w.StateVersion = int(v.Int()); v.Type != gjson.Number || w.StateVersion <= 0 {
				problem = "stateVersion is no version"
			}
		default:
			problem = fmt.Sprintf("it has an unknown member %q", name.Str)
		}
		return problem == ""
	})
	switch {
	case problem != "":
	case w.Run == "" && w.Until == 0:
		problem = "nothing would end it"
	case w.State == nil || w.StateVersion == 0:
		problem = "it has no state, or no version of it"
	}
	if problem != "" {
		return nil, bad("has a wait that cannot be: " + problem)
	}
	return w, nil
}

// stepError is the plugin's own refusal. An unknown code crosses as internal.
func stepError(v gjson.Result) error {
	code, message := abi.Code(v.Get("code").Str), v.Get("message").Str
	if !code.Known() {
		return abi.NewError(abi.Internal, clip(fmt.Sprintf("step: the plugin failed with the unknown code %.60q: %s", code, message)))
	}
	return abi.NewError(code, clip(message))
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
