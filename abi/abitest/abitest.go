// Package abitest holds what conformance is tested with: vectors (behaviour
// cases that cite the sections of the specification), a comparison of JSON
// answers with them, transcripts of the ABI conversation, and a reference host in
// memory.
//
// A vector says what is configured, what is stored, who calls what, how agents
// answer, and what must come of it. It says nothing about how that is made, so
// that the same file tests the plugin's code natively, the module in an engine,
// and any later implementation:
//
//	vectors, err := abitest.Load("testdata/vectors")
//	abitest.Run(t, vectors, func(t *testing.T, v *abitest.Vector, play func(abitest.World, error)) { … })
//
// Host is a reference host: flows, runs, waits, send policy and deliveries as the
// specification and abi/README.md ask for them, on a clock of its own.
//
// Everything here is written for clarity, with encoding/json and linear scans:
// it is the measure for the fast implementations, not one of them, and shares no
// code with them but the forms of keys and messages. Nothing that ships imports
// it.
package abitest
