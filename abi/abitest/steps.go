package abitest

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
)

func steps(o map[string]any) ([]Step, error) {
	if !has(o, "steps") {
		s, err := step(map[string]any{"call": o["call"], "follow": o["follow"], "cost": o["cost"], "expect": o["expect"]})
		return []Step{s}, err
	}
	if has(o, "call") || has(o, "follow") || has(o, "cost") || has(o, "expect") {
		return nil, fmt.Errorf("steps: call, follow, cost and expect stand inside them")
	}
	var all []Step
	for i, item := range list(o["steps"]) {
		so, _ := item.(map[string]any)
		s, err := step(so)
		if err != nil {
			return nil, fmt.Errorf("steps: %d: %w", i+1, err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("steps: there is none")
	}
	return all, nil
}

func step(o map[string]any) (Step, error) {
	var s Step
	if err := only(o, "call", "follow", "cost", "expect"); err != nil {
		return s, err
	}
	call, _ := o["call"].(map[string]any)
	if err := only(call, "tool", "args", "argsText", "argsBase64"); err != nil {
		return s, fmt.Errorf("call: %w", err)
	}
	s.Tool, _ = call["tool"].(string)
	if s.Tool == "" || len(call) > 2 {
		return s, fmt.Errorf("call: want a tool and one of args, argsText, argsBase64")
	}
	args, err := Expand(call["args"])
	if err != nil {
		return s, fmt.Errorf("call: args: %w", err)
	}
	raw, err := Expand(call["argsText"])
	if err != nil {
		return s, fmt.Errorf("call: argsText: %w", err)
	}
	switch {
	case raw != nil:
		s.Args = []byte(text(raw))
	case has(call, "argsBase64"):
		if s.Args, err = base64.StdEncoding.DecodeString(text(call["argsBase64"])); err != nil {
			return s, fmt.Errorf("call: argsBase64: %w", err)
		}
	case args != nil:
		s.args = args
	default:
		s.args = map[string]any{}
	}
	if f, ok := o["follow"].(map[string]any); ok {
		s.Follow = &Follow{}
		d := fields{o: f, what: "follow"}
		d.text("from", &s.Follow.From)
		d.text("to", &s.Follow.To)
		d.text("collect", &s.Follow.Collect)
		d.flag("front", &s.Follow.Front)
		if err := d.done(); err != nil {
			return s, err
		}
	}
	if c, ok := o["cost"].(map[string]any); ok {
		s.Cost = &Cost{}
		d := fields{o: c, what: "cost"}
		d.int("calls", &s.Cost.Calls)
		d.int("bytes", &s.Cost.Bytes)
		if err := d.done(); err != nil {
			return s, err
		}
	}
	s.Expect, err = expectation(o["expect"])
	if err != nil {
		err = fmt.Errorf("expect: %w", err)
	}
	return s, err
}

// Forms of an expectation.
const (
	formResult  = "result"
	formMatch   = "match"
	formFailure = "failure"
	formError   = "error"
	formRefused = "refused"
	formConfig  = "config"
)

func expectation(v any) (Expect, error) {
	var e Expect
	v, err := Expand(v)
	if err != nil {
		return e, err
	}
	o, _ := v.(map[string]any)
	if len(o) != 1 {
		return e, fmt.Errorf("want one of result, match, failure, error, refused, config; got %s", brief(v))
	}
	e.form = names(o)[0]
	e.value = o[e.form]
	switch e.form {
	case formResult:
		return e, nil
	case formMatch:
		return e, checkPattern(e.value)
	case formFailure, formError, formRefused, formConfig:
		p, _ := e.value.(map[string]any)
		if err := only(p, "code", "contains", "lacks", "else"); err != nil {
			return e, fmt.Errorf("%s: %w", e.form, err)
		}
		if has(p, "code") {
			e.Code = abi.Code(text(p["code"]))
			if !e.Code.Known() {
				return e, fmt.Errorf("%s: unknown code %s", e.form, e.Code)
			}
		}
		if has(p, "contains") {
			e.problem.contains = list(p["contains"])
		}
		if has(p, "lacks") {
			e.problem.lacks = list(p["lacks"])
		}
		if has(p, "else") && e.form != formConfig {
			return e, fmt.Errorf("%s: else stands only in config", e.form)
		}
		e.problem.otherwise = p["else"]
		return e, checkPattern(p["else"])
	}
	return e, fmt.Errorf("unknown form %q: want one of %s", e.form,
		strings.Join([]string{formResult, formMatch, formFailure, formError, formRefused, formConfig}, ", "))
}
