package relational

import "github.com/parley-wasm/parley/abi"

// budget counts the bytes of a reply while elements are added.
type budget struct {
	remaining int // remaining bytes
	count     int // number of elements
	scratch   []byte
}

// newBudget starts a reply of at most limit bytes (0 = the default). empty is the
// size of the reply without elements and with "more" false.
func newBudget(limit, empty int) *budget {
	if limit <= 0 {
		limit = abi.DefaultMaxBytes
	}
	return &budget{remaining: limit - empty}
}

// add adds an element if it fits into the limit, or if it is the first. last is true if
// no element follows. If last is false, "more" will be true, and the reply needs one
// byte less than with false.
func (b *budget) add(appendJSON func([]byte) []byte, last bool) bool {
	b.scratch = appendJSON(b.scratch[:0])
	size := len(b.scratch)
	if b.count > 0 {
		size++ // comma
	}
	room := b.remaining
	if !last {
		room++
	}
	if b.count > 0 && size > room {
		return false
	}
	b.remaining -= size
	b.count++
	return true
}

// exceeds reports whether an element of at least size bytes cannot be added.
func (b *budget) exceeds(size int) bool { return b.count > 0 && size > b.remaining+1 }
