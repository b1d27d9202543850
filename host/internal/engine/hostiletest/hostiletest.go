// Package hostiletest reads the hostile plugins of testdata/hostile, and what is to
// become of each.
package hostiletest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Where something goes wrong.
const (
	Load     = "load"     // the module is refused as it is
	Start    = "start"    // the start function fails
	Describe = "describe" // the description fails, or is wrong
	Module   = "module"   // the engine loads it, and no host takes it
	Call     = "call"     // the attack fails in the engine
	Step     = "step"     // what it returns is no step result, or refused
	Flow     = "flow"     // a later step fails
	Nowhere  = ""         // the attack does no harm
)

// Ending is what is to become of a module.
type Outcome struct {
	At    string // one of the constants
	Error string // the engine's kind of error; of a step, its code
	Says  string // is in the error's text
}

// Case is one module.
type Case struct {
	Name string
	Wasm []byte
	Outcome
	// Environment is what becomes of it when its bytes move through the Extism
	// environment; the rest is about the direct way, and about both if this is nil.
	Environment *Outcome
	// Any says that every input with anything in it is an attack.
	Any bool
}

// Ends returns what is to become of the module on one of the ways.
func (c *Case) Expected(environmentOnly bool) Outcome {
	if environmentOnly && c.Environment != nil {
		return *c.Environment
	}
	return c.Outcome
}

// Read returns the cases of a directory, by name.
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

// Wasm returns one module.
func Wasm(t testing.TB, dir, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
