package relational

import "github.com/parley-wasm/parley/abi"

// budget counts the bytes of a reply while it grows.
type budget struct {
	left    int // how much of the limit the elements so far leave
	taken   int // how many elements there are
	scratch []byte
}

// newBudget starts a reply of at most limit bytes (0 = the default), of which
// the empty reply takes some, written with "more" false.
func newBudget(limit, empty int) *budget {
	if limit <= 0 {
		limit = abi.DefaultMaxBytes
	}
	return &budget{left: limit - empty}
}

// take adds an element if the reply is then still within its limit, or if it is
// the first. last says that the reply would end with it because nothing follows:
// otherwise "more" would be true, which is a byte less.
func (b *budget) take(appendJSON func([]byte) []byte, last bool) bool {
	b.scratch = appendJSON(b.scratch[:0])
	size := len(b.scratch)
	if b.taken > 0 {
		size++ // comma
	}
	room := b.left
	if !last {
		room++
	}
	if b.taken > 0 && size > room {
		return false
	}
	b.left -= size
	b.taken++
	return true
}

// hopeless reports whether an element of at least so many bytes cannot be taken.
func (b *budget) hopeless(size int) bool { return b.taken > 0 && size > b.left+1 }
