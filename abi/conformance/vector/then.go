package vector

import (
	"fmt"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// Then is what must have happened when nothing is under way any more:
//
//	{
//	  "runs": [pattern…],        of RunOutcome: those of flows and messages, in the order of acceptance
//	  "deliveries": [pattern…],  of DeliveryOutcome
//	  "flows": [pattern…],       of FlowOutcome: those that started a run
//	  "children": [pattern…]     of ChildOutcome
//	}
//
// Each list has exactly as many elements; in place of an array may stand a matcher
// of one. An absent list is not looked at, but every flow must have come to its
// end.
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
		return nil, fmt.Errorf("want some of runs, deliveries, flows, children")
	}
	return &Then{lists: o}, checkPattern(o)
}

// check compares an outcome with what is expected; nil expects nothing but that
// everything has ended.
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
