package vector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// Play executes a vector's steps in a fixture, and returns the answers and the
// problems found. If the fixture refused the vector's configuration, refused is that
// error and f is not used.
func Play(v *Vector, f Fixture, refused error) (answers []Answer, problems []string) {
	results := []any{}
	for i := range v.Steps {
		s := &v.Steps[i]
		report := func(lines []string) {
			for _, line := range lines {
				problems = append(problems, fmt.Sprintf("step %d: %s: %s", i+1, s.Name(), line))
			}
		}
		if refused != nil {
			report(refusedConfig(s, refused))
			continue
		}
		args, missing := s.Arguments(results)
		if missing != nil {
			report([]string{missing.Error()})
			return answers, problems
		}
		f.Advance(s.AfterMs)
		a, result, wrong := s.perform(v, f, args)
		report(wrong)
		if c := s.Cost; c != nil && (a.HostCalls > c.Calls || a.ReplyBytes > c.Bytes) {
			report([]string{fmt.Sprintf("%d host calls with %d bytes of replies, want at most %d calls with %d bytes", a.HostCalls, a.ReplyBytes, c.Calls, c.Bytes)})
		}
		if s.Expect.form != "" {
			report(s.Expect.Check(a, result))
		}
		answers, results = append(answers, a), append(results, result)
	}
	if refused == nil && v.Writes() {
		problems = append(problems, v.Then.check(f.Finish())...)
	}
	return answers, problems
}

// perform executes one step.
func (s *Step) perform(v *Vector, f Fixture, args []byte) (a Answer, result any, problems []string) {
	noResult := func(err error) (Answer, any, []string) {
		if err != nil {
			problems = []string{err.Error()}
		}
		return a, nil, problems
	}
	switch {
	case s.Patch != nil:
		return noResult(f.Patch(s.Patch))
	case s.Abort:
		o, err := jsonvalue.Parse(args)
		if err != nil {
			return noResult(err)
		}
		return noResult(f.Abort(jsonvalue.Text(o.(map[string]any)["runId"])))
	case s.Restart:
		return noResult(f.Restart())
	case s.Message != nil:
		a = f.Receive(s.Message)
		result, problems = examine("", a)
		return a, result, problems
	}
	call := func(tool string, args []byte) Answer {
		c := &Call{Tool: tool, Args: args, Caller: v.Caller, ID: s.CallID, AbandonAfterMs: s.AbandonAfterMs}
		if s.Caller != nil {
			c.Caller = *s.Caller
		}
		return f.Call(c)
	}
	if s.Follow != nil {
		return follow(s, args, call)
	}
	a = call(s.Tool, args)
	result, problems = examine(s.Tool, a)
	return a, result, problems
}

func refusedConfig(s *Step, err error) []string {
	if s.Expect.form != formConfig {
		return []string{"the configuration is refused: " + err.Error()}
	}
	return s.Expect.failure.check(err.Error())
}

// Same compares the answers of two vectors byte for byte; id names the second.
func Same(a, b []Answer, id string) (problems []string) {
	if len(a) != len(b) {
		return []string{fmt.Sprintf("got %d answers, but %s has %d", len(a), id, len(b))}
	}
	for i := range a {
		if !bytes.Equal(a[i].Result, b[i].Result) || a[i].Code != b[i].Code || fmt.Sprint(a[i].Err) != fmt.Sprint(b[i].Err) {
			problems = append(problems, fmt.Sprintf("step %d: the answers differ:\n%s %s %v\n%s (%s): %s %v",
				i+1, a[i].Result, a[i].Code, a[i].Err, b[i].Result, id, b[i].Code, b[i].Err))
		}
	}
	return problems
}

// Arguments returns the step's arguments. It replaces each {"$step"} reference with a
// value from the results of earlier steps.
func (s *Step) Arguments(results []any) ([]byte, error) {
	if s.Args != nil {
		return s.Args, nil
	}
	o, ok := s.args.(map[string]any)
	if !ok {
		return jsonvalue.Compact(s.args), nil
	}
	out := map[string]any{}
	for name, v := range o {
		if ref, ok := v.(map[string]any); ok && jsonvalue.Has(ref, "$step") {
			n, _ := jsonvalue.Integer(ref, "$step", 0)
			if n < 1 || n > len(results) {
				return nil, fmt.Errorf("$step: step %d has no answer yet", n)
			}
			if v, ok = jsonvalue.Lookup(results[n-1], jsonvalue.Text(ref["path"])); !ok {
				return nil, fmt.Errorf("$step: the answer of step %d has no %s: %s", n, jsonvalue.Text(ref["path"]), jsonvalue.Truncate(results[n-1]))
			}
		}
		out[name] = v
	}
	return jsonvalue.Compact(out), nil
}

// maxPages bounds a Follow whose pages never end.
const maxPages = 1000

func follow(s *Step, args []byte, call func(string, []byte) Answer) (last Answer, joined any, problems []string) {
	items, pages := []any{}, 0
	for pages < maxPages {
		pages++
		last = call(s.Tool, args)
		result, wrong := examine(s.Tool, last)
		problems = append(problems, wrong...)
		page, ok := jsonvalue.Lookup(result, s.Follow.Collect)
		if !ok {
			return last, result, append(problems, fmt.Sprintf("page %d has no %s: %s %v", pages, s.Follow.Collect, jsonvalue.Truncate(result), last.Err))
		}
		if s.Follow.Front {
			items = append(append([]any{}, jsonvalue.List(page)...), items...)
		} else {
			items = append(items, jsonvalue.List(page)...)
		}
		next, more := jsonvalue.Lookup(result, s.Follow.From)
		if !more {
			break
		}
		o, err := jsonvalue.Parse(args)
		if err != nil {
			return last, result, append(problems, "follow: "+err.Error())
		}
		o.(map[string]any)[s.Follow.To] = next
		args = jsonvalue.Compact(o)
	}
	return last, map[string]any{"pages": json.Number(fmt.Sprint(pages)), "items": items}, problems
}

// Check returns the problems of an answer; result is its parsed Result.
func (e *Expect) Check(a Answer, result any) []string {
	if a.Abandoned != (e.form == formAbandoned) {
		return []string{fmt.Sprintf("got %s, abandoned %v", jsonvalue.Truncate(result), a.Abandoned)}
	}
	refused := a.Err != nil
	switch e.form {
	case formAbandoned:
		return nil
	case formResult, formMatch:
		if refused {
			return []string{"failed: " + a.Err.Error()}
		}
		if e.form == formResult {
			return Diff(result, e.value)
		}
		return Match(result, e.value)
	case formError:
		if !refused {
			return []string{fmt.Sprintf("got %s, want an error", jsonvalue.Truncate(result))}
		}
	case formFailure:
		if refused {
			return []string{"failed: " + a.Err.Error() + "; want a result that reports the failure"}
		}
	}
	if e.failure.otherwise != nil {
		return Match(result, e.failure.otherwise)
	}
	if refused {
		return e.failure.check(a.Err.Error(), e.code(a.Err)...)
	}
	status, _ := jsonvalue.Lookup(result, "/status")
	if status != "error" && status != "forbidden" {
		return []string{fmt.Sprintf("got %s, want a failure", jsonvalue.Truncate(result))}
	}
	if e.form == formConfig {
		return nil
	}
	return e.failure.check(jsonvalue.Text(result.(map[string]any)["error"]), e.code(a.Code)...)
}

func (e *Expect) code(got error) []string {
	if e.Code == "" || errors.Is(got, e.Code) {
		return nil
	}
	return []string{fmt.Sprintf("got the code of %q, want %s", got, e.Code)}
}

func (p *failureText) check(got string, lines ...string) []string {
	for _, part := range p.contains {
		if !strings.Contains(got, jsonvalue.Text(part)) {
			lines = append(lines, fmt.Sprintf("error %s does not mention %s", jsonvalue.Truncate(got), jsonvalue.Truncate(part)))
		}
	}
	for _, part := range p.lacks {
		if strings.Contains(got, jsonvalue.Text(part)) {
			lines = append(lines, fmt.Sprintf("error %s must not mention %s", jsonvalue.Truncate(got), jsonvalue.Truncate(part)))
		}
	}
	return lines
}
