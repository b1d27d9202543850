// Package jsonstrict checks and repairs JSON that crosses the boundary of a guest or
// enters a store.
//
// Check refuses every document that two parsers could read differently: text that is
// not RFC 8259 JSON, duplicate member names in one object (compared unescaped), invalid
// UTF-8, a byte order mark, lone surrogate escapes, numbers beyond ±2^53, nesting over
// abi.MaxDepth, and trailing data. Every parser reads an accepted document the same
// way. The code that reads the members must refuse names in the wrong case.
//
// Normalize repairs a document where a repair is possible. It is for documents that
// enter a store and must stay readable: imports, the output of agents, messages from
// channels. Its output passes Check.
//
// Both use the same walker: no recursion, no decoded values, and one small allocation
// unless objects are large. Check walks the document once. Normalize checks it first, and
// walks it a second time, with more allocations, if it needs repairs. The time is linear,
// except for objects with more than 32 members, whose names are sorted. No choice of names
// makes it quadratic. The package runs in the guest on every input, so it uses neither fmt
// nor reflection.
package jsonstrict

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

// MaxLen is the length in bytes of the longest document that Check and Normalize
// accept.
const MaxLen = 512 << 20

// Error is the first problem found in a document. It matches abi.InvalidArgs
// with errors.Is.
type Error struct {
	Offset int    // byte offset in the document
	Reason string // description of the problem
}

var _ error = (*Error)(nil)

func (e *Error) Error() string { return "byte " + strconv.Itoa(e.Offset) + ": " + e.Reason }

// Is reports whether target is abi.InvalidArgs.
func (e *Error) Is(target error) bool {
	c, ok := target.(abi.Code)
	return ok && c == abi.InvalidArgs
}

// Check returns nil for one strict JSON value, optionally surrounded by white space,
// and an *Error otherwise.
func Check(doc []byte) error { return CheckDepth(doc, abi.MaxDepth) }

// CheckDepth is Check with a lower limit of nesting, for a document that will be enclosed
// in others. An empty array or object is one level. If levels exceeds abi.MaxDepth, the
// limit is abi.MaxDepth.
func CheckDepth(doc []byte, levels int) error {
	w := walker{doc: doc, levels: levels}
	if err := w.document(); err != nil {
		return err
	}
	return nil
}
