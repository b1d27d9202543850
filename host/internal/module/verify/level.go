package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/testdata/vectors"
)

// Level selects the vectors that a module must pass.
type Level string

// Levels.
const (
	All   Level = "all"   // every vector that needs the module
	Quick Level = "quick" // the vectors that cover a feature first, see features
)

// set holds the vectors of a level and the vectors that they refer to.
type set struct {
	vectors []*vector.Vector
	byID    map[string]*vector.Vector // vectors, and the vectors that SameAs names
}

// load reads the vectors of a level. It skips vectors of known gaps, and vectors
// without a tool call, which do not test a module. The vectors are not cached:
// verification is rare, and all vectors take tens of megabytes.
func load(l Level) (*set, error) {
	if l != All && l != Quick {
		return nil, fmt.Errorf("verify: unknown level %q; use %s or %s", l, All, Quick)
	}
	wanted, seen := map[string]bool{}, map[string]bool{}
	all, err := vector.Select(vectors.Files, func(v *vector.Vector) bool {
		if v.Gap == "" && len(tools(v)) > 0 && (l == All || !markSeen(seen, features(v))) {
			wanted[v.ID] = true
		}
		return wanted[v.ID]
	})
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	s := &set{byID: map[string]*vector.Vector{}}
	for _, v := range all {
		if s.byID[v.ID] = v; wanted[v.ID] {
			s.vectors = append(s.vectors, v)
		}
	}
	return s, nil
}

// markSeen adds names to seen, and reports whether all of them were there before.
func markSeen(seen map[string]bool, names []string) bool {
	before := true
	for _, name := range names {
		before = before && seen[name]
		seen[name] = true
	}
	return before
}

// features returns the features that a vector covers: its section, its file, and the
// name of each step with the form of its expected result. So the quick level covers
// each section and file at least once, and each tool with a result, a failure and an
// error.
func features(v *vector.Vector) []string {
	section, _, _ := strings.Cut(v.ID, "/")
	all := []string{section, v.File}
	for i := range v.Steps {
		s := &v.Steps[i]
		all = append(all, s.Name()+" "+s.Expect.Form())
	}
	return all
}

// sessionTools are the tools that vectors test. A vector that calls another tool
// expects that it is unknown.
var sessionTools = []string{abi.ToolList, abi.ToolHistory, abi.ToolAgents, abi.ToolSend, abi.ToolSpawn}

// tools returns the session tools that the steps or the agents of a vector call.
func tools(v *vector.Vector) (names []string) {
	add := func(name string) {
		if slices.Contains(sessionTools, name) {
			names = append(names, name)
		}
	}
	for i := range v.Steps {
		add(v.Steps[i].Tool)
	}
	for _, turns := range v.Agents {
		for i := range turns {
			for j := range turns[i].Calls {
				add(turns[i].Calls[j].Tool)
			}
		}
	}
	return names
}

// missing reports whether a vector calls a session tool that is not available.
func missing(v *vector.Vector, available []string) bool {
	return slices.ContainsFunc(tools(v), func(name string) bool { return !slices.Contains(available, name) })
}
