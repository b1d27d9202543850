// Package vectors carries the conformance vectors into programs, which verify
// modules with them. README.md says what is in which file.
package vectors

import "embed"

// Files are the vectors, for vector.Load.
//
//go:embed *.json stores/*.json
var Files embed.FS
