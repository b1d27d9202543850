// Package jsonstrict decides what counts as JSON at Parley's border.
//
// Check refuses whatever two readers could understand differently: text that is
// not RFC 8259 JSON, a member name that occurs twice in one object (compared
// unescaped), invalid UTF-8, a byte order mark, lone surrogate escapes, numbers
// beyond ±2^53, nesting over abi.MaxDepth, trailing data. A document that passes
// reads the same in every language, with every parser. Member names in the wrong
// case are for the reader to refuse.
//
// Normalize repairs instead of refusing, where a repair is possible. It is for
// what enters a store and must stay readable ever after: imports, the output of
// agents, messages from channels. Its output passes Check.
//
// Both run the same walker over the document, once: no recursion, no decoded
// values, and one small allocation unless objects are large. Time is linear but
// for objects with more than 32 members, whose names are sorted; no choice of
// names makes it quadratic. The package runs in the guest on every
// input, so it uses neither fmt nor reflection.
package jsonstrict

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

// MaxLen is the longest document in bytes that Check and Normalize look at.
const MaxLen = 512 << 20

// Error is the first problem found in a document. It matches abi.InvalidArgs
// with errors.Is.
type Error struct {
	Offset int    // byte in the document
	Reason string // what is wrong there
}

var _ error = (*Error)(nil)

func (e *Error) Error() string { return "byte " + strconv.Itoa(e.Offset) + ": " + e.Reason }

// Is reports whether target is abi.InvalidArgs.
func (e *Error) Is(target error) bool {
	c, ok := target.(abi.Code)
	return ok && c == abi.InvalidArgs
}

// Check returns nil for one strict JSON value with nothing but white space
// around it, and an *Error otherwise.
func Check(doc []byte) error { return CheckDepth(doc, abi.MaxDepth) }

// CheckDepth is Check with fewer levels of nesting: for a document that will be
// enclosed in others, and must not bring those over abi.MaxDepth. An empty array
// or object is one level; levels beyond abi.MaxDepth count as abi.MaxDepth.
func CheckDepth(doc []byte, levels int) error {
	w := walker{doc: doc, levels: levels}
	if err := w.document(); err != nil {
		return err
	}
	return nil
}
