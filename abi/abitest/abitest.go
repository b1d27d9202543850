// Package abitest holds what conformance is tested with: vectors (behaviour
// cases that cite the sections of the specification), a comparison of JSON
// answers with them, transcripts of the ABI conversation, and Store, a
// reference implementation of the host functions in memory.
//
// A vector says what is configured, what is stored, who calls what, and what
// the answer must be. It says nothing about how the answer is made, so that the
// same file tests the plugin's code natively, the module in an engine, and any
// later implementation:
//
//	vectors, err := abitest.Load("testdata/vectors")
//	abitest.Run(t, vectors, func(t *testing.T, v *abitest.Vector) (abitest.CallFunc, error) { … })
//
// Everything here is written for clarity, with encoding/json and linear scans:
// it is the measure for the fast implementations, not one of them. Nothing that
// ships imports it.
package abitest
