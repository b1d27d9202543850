package abitest

import (
	"encoding/base64"
	"errors"
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
		s, err := anyStep(so)
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

// anyStep reads an element of "steps".
func anyStep(o map[string]any) (s Step, err error) {
	after, err := integer(o, "afterMs", 0)
	if err != nil {
		return s, err
	}
	switch {
	case has(o, "patch"):
		s.Patch, err = patch(o["patch"])
		err = errors.Join(err, only(o, "afterMs", "patch"))
	case has(o, "restart"):
		s.Restart = true
		if err = only(o, "afterMs", "restart"); err == nil && o["restart"] != true {
			err = fmt.Errorf("restart: want true")
		}
	case has(o, "kill"):
		s.Kill, s.args = true, o["kill"]
		kill, _ := s.args.(map[string]any)
		if err = errors.Join(only(o, "afterMs", "kill"), only(kill, "runId")); err == nil && !has(kill, "runId") {
			err = fmt.Errorf("kill: want a runId")
		}
	case has(o, "message"):
		if s.Message, err = inbound(o["message"]); err == nil {
			err = only(o, "afterMs", "message", "expect")
		}
		if err == nil {
			s.Expect, err = expectation(o["expect"])
		}
	default:
		s, err = step(o)
	}
	s.AfterMs = int64(after)
	return s, err
}

func patch(v any) (*Patch, error) {
	o, _ := v.(map[string]any)
	p := &Patch{}
	f := fields{o: o, what: "patch"}
	f.required("key", &p.Key)
	f.optFlag("archived", &p.Archived)
	if o["sendPolicy"] == nil {
		f.take("sendPolicy")
		if has(o, "sendPolicy") {
			p.SendPolicy = new(string)
		}
	} else {
		p.SendPolicy = new(string)
		f.text("sendPolicy", p.SendPolicy)
	}
	return p, f.done()
}

func inbound(v any) (*Inbound, error) {
	o, _ := v.(map[string]any)
	m := &Inbound{}
	f := fields{o: o, what: "message"}
	f.required("sessionKey", &m.SessionKey)
	f.required("text", &m.Text)
	f.text("from", &m.From)
	f.text("channel", &m.Target.Channel)
	f.text("to", &m.Target.To)
	f.text("accountId", &m.Target.AccountID)
	f.text("threadId", &m.Target.ThreadID)
	return m, f.done()
}

// step reads a tool call with what must come of it.
func step(o map[string]any) (Step, error) {
	var s Step
	if err := only(o, "afterMs", "call", "callId", "caller", "abandonAfterMs", "follow", "cost", "expect"); err != nil {
		return s, err
	}
	if has(o, "caller") {
		c, err := caller(o["caller"])
		if err != nil {
			return s, fmt.Errorf("caller: %w", err)
		}
		s.Caller = &c
	}
	d := fields{o: o, what: "step"}
	d.text("callId", &s.CallID)
	d.int64("abandonAfterMs", &s.AbandonAfterMs)
	if d.err != nil {
		return s, d.err
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
	formGone    = "abandoned"
)

var forms = []string{formResult, formMatch, formFailure, formError, formRefused, formConfig, formGone}

func expectation(v any) (Expect, error) {
	var e Expect
	v, err := Expand(v)
	if err != nil {
		return e, err
	}
	o, _ := v.(map[string]any)
	if len(o) != 1 {
		return e, fmt.Errorf("want one of %s; got %s", strings.Join(forms, ", "), brief(v))
	}
	e.form = names(o)[0]
	e.value = o[e.form]
	switch e.form {
	case formResult:
		return e, nil
	case formGone:
		if e.value != true {
			return e, fmt.Errorf("abandoned: want true")
		}
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
	return e, fmt.Errorf("unknown form %q: want one of %s", e.form, strings.Join(forms, ", "))
}
