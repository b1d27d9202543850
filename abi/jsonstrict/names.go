package jsonstrict

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// smallObject is the largest number of members for which each new name is compared with
// the earlier ones. The names of larger objects are sorted at the end of the object.
const smallObject = 32

// name is a member's name: the span of its raw text (in the document or, when
// repairing, in the output), the length of its unescaped form, and the hash of that
// form.
type name struct {
	start, end uint32
	size       uint32
	hash       uint32
}

// dropped is the size of a name whose member is replaced by a later one of the same
// name.
const dropped = 1<<32 - 1

// addNew adds the name that has just been read to the innermost object, if that needs
// no allocation and no comparison of texts. Otherwise it returns nameRead.
func (w *walker) addNew() event {
	k := len(w.names)
	if w.fix != nil || w.escapes || k == cap(w.names) {
		return nameRead
	}
	n := name{start: uint32(w.start + 1), end: uint32(w.i - 1), size: uint32(w.i - w.start - 2)}
	n.hash = hash(w.doc[n.start:n.end])
	if w.sameHash(&n) != nil {
		return nameRead
	}
	w.names = w.names[:k+1]
	w.names[k] = n
	return none
}

// sameHash returns the innermost object's names from the first one that has n's hash. It
// returns nil if no name has it, or if the object's names will be sorted.
func (w *walker) sameHash(n *name) []name {
	l := &w.open[w.depth-1]
	bit := uint64(1) << (n.hash & 63)
	if l.seen&bit == 0 {
		l.seen |= bit
		return nil
	}
	if earlier := w.names[l.first:]; len(earlier) < smallObject {
		for i := range earlier {
			if earlier[i].hash == n.hash {
				return earlier[i:]
			}
		}
	}
	return nil
}

// addName adds the name that has just been read to the innermost object. When
// repairing, names are compared at the end of the object.
func (w *walker) addName() *Error {
	n := name{start: uint32(w.start + 1), end: uint32(w.i - 1)}
	if w.fix != nil {
		w.fix.begin(w.doc, w.start)
		w.fix.copy(w.doc, w.i)
		n.start, n.end = uint32(w.fix.name+1), uint32(w.fix.len()-1)
	}
	text := w.source()[n.start:n.end]
	if w.escapes {
		w.plain[0] = unescape(w.plain[0][:0], text)
		text = w.plain[0]
	}
	n.size = uint32(len(text))
	n.hash = hash(text)
	if w.fix == nil {
		for _, other := range w.sameHash(&n) {
			if w.compare(other, n) == 0 {
				return w.duplicate(n)
			}
		}
	}
	if w.names == nil {
		w.names = make([]name, 0, smallObject)
	}
	w.names = append(w.names, n)
	return nil
}

// endNames removes the innermost object's names from w.names. It repairs duplicates, or
// refuses those that addName has not refused.
func (w *walker) endNames() *Error {
	first := w.open[w.depth-1].first
	names := w.names[first:]
	w.names = w.names[:first]
	if w.fix != nil {
		w.fix.copy(w.doc, w.i)
		if n := w.dropDuplicates(names); n > 0 {
			w.fix.Duplicates += n
			w.fix.compact(names)
		}
		return nil
	}
	w.sort(names)
	var second *name
	for i := 1; i < len(names); i++ {
		if w.compare(names[i-1], names[i]) == 0 && (second == nil || names[i].start < second.start) {
			second = &names[i]
		}
	}
	if second != nil {
		return w.duplicate(*second)
	}
	return nil
}

// dropDuplicates finds the names that occur again later in the object, sets their size to
// dropped, and returns their number.
func (w *walker) dropDuplicates(names []name) int {
	n := 0
	if len(names) <= smallObject {
		for i := range names {
			for j := i + 1; j < len(names); j++ {
				if w.compare(names[i], names[j]) == 0 {
					names[i].size = dropped
					n++
					break
				}
			}
		}
		return n
	}
	w.sort(names)
	for i := 1; i < len(names); i++ {
		if w.compare(names[i-1], names[i]) == 0 {
			names[i-1].size = dropped
			n++
		}
	}
	if n > 0 {
		slices.SortFunc(names, func(a, b name) int { return order(a.start, b.start) })
	}
	return n
}

// sort groups equal names, in the order of the document. It distributes the names by
// the upper bits of their hashes into about as many buckets as there are names, then
// sorts each bucket. Even if all names fall into one bucket, the cost is only that of
// sorting them.
func (w *walker) sort(names []name) {
	shift := bits.LeadingZeros32(uint32(len(names)))
	ends := make([]uint32, 1<<(32-shift))
	for i := range names {
		ends[names[i].hash>>shift]++
	}
	sum := uint32(0)
	for i, n := range ends { // now each bucket's start
		ends[i] = sum
		sum += n
	}
	sorted := make([]name, len(names))
	for _, n := range names {
		end := &ends[n.hash>>shift]
		sorted[*end] = n
		*end++
	}
	copy(names, sorted)
	from := uint32(0)
	for _, end := range ends {
		if end-from > 1 {
			slices.SortFunc(names[from:end], func(a, b name) int {
				if c := w.compare(a, b); c != 0 {
					return c
				}
				return order(a.start, b.start)
			})
		}
		from = end
	}
}

// compare orders names of one object; 0 means that their unescaped forms are equal.
// Names of different size are never decoded, so that one long name cannot slow down
// many comparisons.
func (w *walker) compare(a, b name) int {
	if a.hash != b.hash {
		return order(a.hash, b.hash)
	}
	if a.size != b.size {
		return order(a.size, b.size)
	}
	return bytes.Compare(w.decoded(a, 0), w.decoded(b, 1))
}

func order(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// decoded returns the unescaped name. If the name has escapes, the result is in
// w.plain[buffer]. Every escape is longer than its decoded form, so equal lengths
// mean that the name has no escapes.
func (w *walker) decoded(n name, buffer int) []byte {
	raw := w.source()[n.start:n.end]
	if n.size == n.end-n.start {
		return raw
	}
	w.plain[buffer] = unescape(w.plain[buffer][:0], raw)
	return w.plain[buffer]
}

// source returns the text to which the offsets of names refer.
func (w *walker) source() []byte {
	if w.fix != nil {
		return w.fix.out[w.fix.base:]
	}
	return w.doc
}

// duplicate returns the error for a name that occurred before in its object.
func (w *walker) duplicate(n name) *Error {
	text := w.decoded(n, 0)
	more := ""
	if end := 64; len(text) > end {
		for end > 0 && text[end]&0xC0 == 0x80 { // back to the start of a rune
			end--
		}
		text, more = text[:end], "…"
	}
	return &Error{Offset: int(n.start) - 1, Reason: "duplicate member " + string(jsonappend.String(nil, string(text))) + more}
}

// hash returns a 32-bit hash of a name. It is fast and not collision-resistant. Names that
// an attacker chose to collide cost more comparisons, but not quadratic time.
func hash(b []byte) uint32 {
	h := uint64(len(b)) * seed
	switch n := len(b); {
	case n >= 8:
		for i := 0; i+8 < n; i += 8 {
			h = mix(h ^ jsonappend.Load64(b[i:]))
		}
		h = mix(h ^ jsonappend.Load64(b[n-8:]))
	case n >= 4:
		h = mix(h ^ uint64(load32(b)) ^ uint64(load32(b[n-4:]))<<32)
	case n > 0:
		h = mix(h ^ uint64(b[0]) ^ uint64(b[n/2])<<8 ^ uint64(b[n-1])<<16)
	}
	return uint32(h * seed >> 32)
}

const seed = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio

// mix spreads each bit of v over the bits above it, and folds the upper half into the
// lower.
func mix(v uint64) uint64 {
	v *= 0xD6E8FEB86659FD93
	return v ^ v>>32
}

func load32(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
