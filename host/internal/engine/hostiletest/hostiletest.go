// Package hostiletest reads the hostile plugins of testdata/hostile, and the expected
// outcome of each attack.
package hostiletest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Stages at which an attack fails.
const (
	Load     = "load"     // the engine rejects the module
	Start    = "start"    // the start function fails
	Describe = "describe" // describe fails, or returns an invalid description
	Module   = "module"   // the engine loads the module, and the host rejects it
	Call     = "call"     // the attack fails in the engine
	Step     = "step"     // the host rejects the step result
	Flow     = "flow"     // a later step fails
	Harmless = ""         // the attack has no effect
)

// Outcome is the expected outcome of an attack.
type Outcome struct {
	At    string // the stage; one of the constants
	Error string // the engine's kind of error; for a step, the code
	Says  string // a substring of the error text
}

// Case is a hostile module and the expected outcome of its attack.
type Case struct {
	Name string
	Wasm []byte
	Outcome
	// KernelCalls is the outcome with kernel calls; nil: the same as Outcome.
	KernelCalls *Outcome `json:"environment"`
	// Any reports whether every nonempty input triggers the attack.
	Any bool
}

// Expected returns the expected outcome with direct memory or with kernel calls.
func (c *Case) Expected(kernelCalls bool) Outcome {
	if kernelCalls && c.KernelCalls != nil {
		return *c.KernelCalls
	}
	return c.Outcome
}

// Read returns the cases of a folder, sorted by name.
func Read(t testing.TB, dir string) []*Case {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]*Case{}
	if err := json.Unmarshal(text, &named); err != nil {
		t.Fatal(err)
	}
	var all []*Case
	for _, name := range slices.Sorted(maps.Keys(named)) {
		c := named[name]
		c.Name, c.Wasm = name, Wasm(t, dir, name)
		all = append(all, c)
	}
	return all
}

// Wasm returns one module of a folder.
func Wasm(t testing.TB, dir, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
