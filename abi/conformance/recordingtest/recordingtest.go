// Package recordingtest has what tests need of conformance: vectors as subtests,
// and recordings of the ABI conversation with their replay.
//
//	recordingtest.Run(t, vectors, func(t *testing.T, v *vector.Vector, play func(vector.Fixture, error)) { … })
package recordingtest
