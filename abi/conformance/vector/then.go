package vector

import (
	"fmt"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// Then describes the expected outcome once all work has finished:
//
//	{
//	  "runs": [pattern…],        of RunOutcome: the runs that flows and messages started, in order of acceptance
//	  "deliveries": [pattern…],  of DeliveryOutcome
//	  "flows": [pattern…],       of FlowOutcome: flows that started a run
//	  "children": [pattern…]     of ChildOutcome
//	}
//
// An array must have as many patterns as there are outcomes; a matcher may replace the
// array. An absent list is not compared, but without "flows" every flow must be done.
type Then struct {
	lists map[string]any // patterns by member
}

func then(v any) (*Then, error) {
	if v == nil {
		return nil, nil
	}
	v, err := Expand(v)
	if err != nil {
		return nil, err
	}
	o, _ := v.(map[string]any)
	if err := jsonvalue.Only(o, "runs", "deliveries", "flows", "children"); err != nil {
		return nil, err
	}
	if len(o) == 0 {
		return nil, fmt.Errorf("want at least one of runs, deliveries, flows, children")
	}
	return &Then{lists: o}, checkPattern(o)
}

// check compares an outcome with the expected one. A nil Then only requires that
// every flow is done.
func (t *Then) check(o *Outcome) (problems []string) {
	problems = append(problems, o.Problems...)
	for i, f := range o.Flows {
		if f.Status != FlowDone && (t == nil || t.lists["flows"] == nil) {
			problems = append(problems, fmt.Sprintf("flow %d of %s is %s: %s", i+1, f.Tool, f.Status, f.Note))
		}
	}
	if t == nil {
		return problems
	}
	got := map[string]any{"runs": parsedList(o.Runs), "deliveries": parsedList(o.Deliveries), "flows": parsedList(o.Flows), "children": parsedList(o.Children)}
	for _, line := range Match(got, any(t.lists)) {
		problems = append(problems, "then: "+line)
	}
	return problems
}

func parsedList[T any](all []T) any {
	out := []any{}
	for _, v := range all {
		out = append(out, encoded(v))
	}
	return out
}
