package vector

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

func steps(o map[string]any) ([]Step, error) {
	if !jsonvalue.Has(o, "steps") {
		s, err := step(map[string]any{"call": o["call"], "follow": o["follow"], "cost": o["cost"], "expect": o["expect"]})
		return []Step{s}, err
	}
	if jsonvalue.Has(o, "call") || jsonvalue.Has(o, "follow") || jsonvalue.Has(o, "cost") || jsonvalue.Has(o, "expect") {
		return nil, fmt.Errorf("steps: call, follow, cost and expect belong inside the steps")
	}
	var all []Step
	for i, item := range jsonvalue.List(o["steps"]) {
		so, _ := item.(map[string]any)
		s, err := anyStep(so)
		if err != nil {
			return nil, fmt.Errorf("steps: %d: %w", i+1, err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("steps: want at least one")
	}
	return all, nil
}

// anyStep reads an element of "steps".
func anyStep(o map[string]any) (s Step, err error) {
	after, err := jsonvalue.Integer(o, "afterMs", 0)
	if err != nil {
		return s, err
	}
	switch {
	case jsonvalue.Has(o, "patch"):
		s.Patch, err = patch(o["patch"])
		err = errors.Join(err, jsonvalue.Only(o, "afterMs", "patch"))
	case jsonvalue.Has(o, "restart"):
		s.Restart = true
		if err = jsonvalue.Only(o, "afterMs", "restart"); err == nil && o["restart"] != true {
			err = fmt.Errorf("restart: want true")
		}
	case jsonvalue.Has(o, "kill"):
		s.Abort, s.args = true, o["kill"]
		kill, _ := s.args.(map[string]any)
		if err = errors.Join(jsonvalue.Only(o, "afterMs", "kill"), jsonvalue.Only(kill, "runId")); err == nil && !jsonvalue.Has(kill, "runId") {
			err = fmt.Errorf("kill: want a runId")
		}
	case jsonvalue.Has(o, "message"):
		if s.Message, err = inbound(o["message"]); err == nil {
			err = jsonvalue.Only(o, "afterMs", "message", "expect")
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
	f := jsonvalue.Fields{Object: o, What: "patch"}
	f.Required("key", &p.Key)
	f.OptFlag("archived", &p.Archived)
	if o["sendPolicy"] == nil {
		f.Take("sendPolicy")
		if jsonvalue.Has(o, "sendPolicy") {
			p.SendPolicy = new(string)
		}
	} else {
		p.SendPolicy = new(string)
		f.Text("sendPolicy", p.SendPolicy)
	}
	return p, f.Done()
}

func inbound(v any) (*Inbound, error) {
	o, _ := v.(map[string]any)
	m := &Inbound{}
	f := jsonvalue.Fields{Object: o, What: "message"}
	f.Required("sessionKey", &m.SessionKey)
	f.Required("text", &m.Text)
	f.Text("from", &m.From)
	f.Text("channel", &m.Target.Channel)
	f.Text("to", &m.Target.To)
	f.Text("accountId", &m.Target.AccountID)
	f.Text("threadId", &m.Target.ThreadID)
	return m, f.Done()
}

// step reads a tool call and its expectation.
func step(o map[string]any) (Step, error) {
	var s Step
	if err := jsonvalue.Only(o, "afterMs", "call", "callId", "caller", "abandonAfterMs", "follow", "cost", "expect"); err != nil {
		return s, err
	}
	if jsonvalue.Has(o, "caller") {
		c, err := caller(o["caller"])
		if err != nil {
			return s, fmt.Errorf("caller: %w", err)
		}
		s.Caller = &c
	}
	d := jsonvalue.Fields{Object: o, What: "step"}
	d.Text("callId", &s.CallID)
	d.Int64("abandonAfterMs", &s.AbandonAfterMs)
	if d.Err != nil {
		return s, d.Err
	}
	call, _ := o["call"].(map[string]any)
	if err := jsonvalue.Only(call, "tool", "args", "argsText", "argsBase64"); err != nil {
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
		s.Args = []byte(jsonvalue.Text(raw))
	case jsonvalue.Has(call, "argsBase64"):
		if s.Args, err = base64.StdEncoding.DecodeString(jsonvalue.Text(call["argsBase64"])); err != nil {
			return s, fmt.Errorf("call: argsBase64: %w", err)
		}
	case args != nil:
		s.args = args
	default:
		s.args = map[string]any{}
	}
	if f, ok := o["follow"].(map[string]any); ok {
		s.Follow = &Follow{}
		d := jsonvalue.Fields{Object: f, What: "follow"}
		d.Text("from", &s.Follow.From)
		d.Text("to", &s.Follow.To)
		d.Text("collect", &s.Follow.Collect)
		d.Flag("front", &s.Follow.Front)
		if err := d.Done(); err != nil {
			return s, err
		}
	}
	if c, ok := o["cost"].(map[string]any); ok {
		s.Cost = &Cost{}
		d := jsonvalue.Fields{Object: c, What: "cost"}
		d.Int("calls", &s.Cost.Calls)
		d.Int("bytes", &s.Cost.Bytes)
		if err := d.Done(); err != nil {
			return s, err
		}
	}
	s.Expect, err = expectation(o["expect"])
	if err != nil {
		err = fmt.Errorf("expect: %w", err)
	}
	return s, err
}

// Forms of an expectation: the names of its only member.
const (
	formResult    = "result"
	formMatch     = "match"
	formFailure   = "failure"
	formError     = "error"
	formRefused   = "refused"
	formConfig    = "config"
	formAbandoned = "abandoned"
)

var forms = []string{formResult, formMatch, formFailure, formError, formRefused, formConfig, formAbandoned}

func expectation(v any) (Expect, error) {
	var e Expect
	v, err := Expand(v)
	if err != nil {
		return e, err
	}
	o, _ := v.(map[string]any)
	if len(o) != 1 {
		return e, fmt.Errorf("want one of %s; got %s", strings.Join(forms, ", "), jsonvalue.Truncate(v))
	}
	e.form = jsonvalue.Names(o)[0]
	e.value = o[e.form]
	switch e.form {
	case formResult:
		return e, nil
	case formAbandoned:
		if e.value != true {
			return e, fmt.Errorf("abandoned: want true")
		}
		return e, nil
	case formMatch:
		return e, checkPattern(e.value)
	case formFailure, formError, formRefused, formConfig:
		p, _ := e.value.(map[string]any)
		if err := jsonvalue.Only(p, "code", "contains", "lacks", "else"); err != nil {
			return e, fmt.Errorf("%s: %w", e.form, err)
		}
		if jsonvalue.Has(p, "code") {
			e.Code = abi.Code(jsonvalue.Text(p["code"]))
			if !e.Code.Known() {
				return e, fmt.Errorf("%s: unknown code %s", e.form, e.Code)
			}
		}
		if jsonvalue.Has(p, "contains") {
			e.failure.contains = jsonvalue.List(p["contains"])
		}
		if jsonvalue.Has(p, "lacks") {
			e.failure.lacks = jsonvalue.List(p["lacks"])
		}
		if jsonvalue.Has(p, "else") && e.form != formConfig {
			return e, fmt.Errorf("%s: else is allowed only in config", e.form)
		}
		e.failure.otherwise = p["else"]
		return e, checkPattern(p["else"])
	}
	return e, fmt.Errorf("unknown form %q: want one of %s", e.form, strings.Join(forms, ", "))
}
