// Package recordingtest runs conformance vectors as subtests, and saves, loads and
// replays recordings of the ABI conversation between host and plugin.
//
//	recordingtest.Run(t, vectors, func(t *testing.T, v *vector.Vector, play func(vector.Fixture, error)) { … })
package recordingtest
