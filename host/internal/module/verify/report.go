package verify

import (
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
)

// Report is the result of verifying a module.
type Report struct {
	Vectors  int        `json:"vectors"`  // number of vectors of the level
	Passed   int        `json:"passed"`   // number of vectors that the module passed
	Skipped  int        `json:"skipped"`  // number of vectors that need tools which the module does not describe
	NotRun   int        `json:"-"`        // number of vectors that were not run because MaxFailures was reached
	Failures []*Failure `json:"failures"` // in the order of the vectors
}

// Failure is a vector that the module did not pass.
type Failure struct {
	ID       string   `json:"id"`
	About    string   `json:"about"`
	Problems []string `json:"problems"` // each with the step and the position in its answer
}

// Names returns the names of tools.
func Names(tools []abi.Tool) []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}

const (
	maxNamed = 3   // failures in an error text
	maxText  = 240 // characters of a problem in an error text
)

// Err returns nil if no vector failed. Otherwise it returns an error of one line with
// the failed vectors, their problems and a remedy. It matches abi.InvalidArgs.
func (r *Report) Err() error {
	if len(r.Failures) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "verify: the module fails %d of %d vectors", len(r.Failures), len(r.Failures)+r.Passed)
	if r.NotRun > 0 {
		fmt.Fprintf(&b, "; %d were not run", r.NotRun)
	}
	for i, f := range r.Failures {
		if i == maxNamed {
			fmt.Fprintf(&b, "; and %d more", len(r.Failures)-i)
			break
		}
		fmt.Fprintf(&b, "; %s: %s", f.ID, clip(f.Problems[0]))
	}
	b.WriteString("; parley plugin verify shows all of them: fix the module, or set plugins.verify to \"none\" if it is meant to answer differently")
	return abi.NewError(abi.InvalidArgs, b.String())
}

// clip joins a problem's lines and truncates the result.
func clip(problem string) string {
	text := []rune(strings.Join(strings.Fields(problem), " "))
	if len(text) > maxText {
		return string(text[:maxText]) + "…"
	}
	return string(text)
}
