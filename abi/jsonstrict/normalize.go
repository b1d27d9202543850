package jsonstrict

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

// Report counts the repairs of Normalize.
type Report struct {
	UTF8           int // bytes that were not valid UTF-8, each now U+FFFD
	Surrogates     int // lone surrogate escapes, each now U+FFFD
	Controls       int // raw control characters in strings, now escaped
	Numbers        int // numbers beyond ±2^53, now strings with the original text
	Duplicates     int // members removed because a later one has the same name
	ByteOrderMarks int // byte order marks removed
}

// IsZero reports whether nothing was repaired.
func (r Report) IsZero() bool { return r == Report{} }

// Add adds the counts of o.
func (r *Report) Add(o Report) {
	r.UTF8 += o.UTF8
	r.Surrogates += o.Surrogates
	r.Controls += o.Controls
	r.Numbers += o.Numbers
	r.Duplicates += o.Duplicates
	r.ByteOrderMarks += o.ByteOrderMarks
}

// String lists the repairs for people, such as "2 duplicate members, 1 lone surrogate".
// It returns "none" if nothing was repaired.
func (r Report) String() string {
	var b []byte
	for _, kind := range [...]struct {
		n         int
		one, many string
	}{
		{r.UTF8, "invalid UTF-8 byte", "invalid UTF-8 bytes"},
		{r.Surrogates, "lone surrogate", "lone surrogates"},
		{r.Controls, "raw control character", "raw control characters"},
		{r.Numbers, "number beyond ±2^53", "numbers beyond ±2^53"},
		{r.Duplicates, "duplicate member", "duplicate members"},
		{r.ByteOrderMarks, "byte order mark", "byte order marks"},
	} {
		if kind.n == 0 {
			continue
		}
		if b != nil {
			b = append(b, ", "...)
		}
		b = append(strconv.AppendInt(b, int64(kind.n), 10), ' ')
		if kind.n == 1 {
			b = append(b, kind.one...)
		} else {
			b = append(b, kind.many...)
		}
	}
	if b == nil {
		return "none"
	}
	return string(b)
}

// Normalize appends doc to dst, repaired so that Check accepts it:
//
//   - a byte that is not valid UTF-8 and a lone surrogate escape become U+FFFD;
//   - a raw control character in a string becomes its escape;
//   - a number beyond ±2^53 becomes a string with the number's text;
//   - of several members with one name only the last is kept, at its position. Names are
//     compared after the repairs above;
//   - a byte order mark is removed.
//
// All other bytes are copied unchanged, and so is a document that passes Check.
// Normalize returns an *Error and the unchanged dst for a document that it cannot
// repair: text that is not JSON, trailing data, nesting over abi.MaxDepth.
func Normalize(dst, doc []byte) ([]byte, Report, error) {
	return NormalizeDepth(dst, doc, abi.MaxDepth)
}

// NormalizeDepth is Normalize with a lower limit of nesting; see CheckDepth.
func NormalizeDepth(dst, doc []byte, levels int) ([]byte, Report, error) {
	if CheckDepth(doc, levels) == nil {
		return append(dst, doc...), Report{}, nil
	}
	w := walker{doc: doc, levels: levels, fix: &repair{out: dst, base: len(dst)}}
	if err := w.document(); err != nil {
		return dst, Report{}, err
	}
	w.fix.copy(doc, len(doc))
	return w.fix.out, w.fix.Report, nil
}
