// Package vectors embeds the conformance vectors in programs that verify modules with
// them. README.md describes the files.
package vectors

import "embed"

// Files are the vectors, for vector.Load.
//
//go:embed *.json stores/*.json
var Files embed.FS
