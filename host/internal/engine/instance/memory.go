package instance

import (
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// memory is the linear memory of one instance. Unlike the runtime's own, it can
// shrink, so that an instance that grew can be what it was.
type memory struct {
	buf    []byte // its length is the memory's size; what is beyond it, up to its capacity, is zero
	limit  uint64 // bytes
	shrink bool   // the next Reallocate returns buf as it is, whatever is asked for
}

var (
	_ experimental.MemoryAllocator = (*memory)(nil)
	_ experimental.LinearMemory    = (*memory)(nil)
)

// Allocate is called once, for a module has one memory.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate returns the memory with a new size, or nil if that is too much.
func (m *memory) Reallocate(size uint64) []byte {
	switch {
	case m.shrink:
		m.shrink = false
	case size > m.limit:
		return nil
	case size <= uint64(cap(m.buf)):
		m.buf = m.buf[:size]
	default:
		grown := make([]byte, size, min(max(size, 2*uint64(cap(m.buf))), m.limit))
		copy(grown, m.buf)
		m.buf = grown
	}
	return m.buf
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() { m.buf = nil }

// image is what a memory was: zero but for data, which lies at a place. Modules
// whose stack is below their data begin with much that is zero, and clearing costs
// half of copying.
type snapshot struct {
	data []byte
	at   int
	size int
}

func (m *memory) snapshot() snapshot {
	from, to := 0, len(m.buf)
	for to > 0 && m.buf[to-1] == 0 {
		to--
	}
	for from < to && m.buf[from] == 0 {
		from++
	}
	return snapshot{append([]byte(nil), m.buf[from:to]...), from, len(m.buf)}
}

// restore makes the memory what it was, its size included. It reports false if
// it could not, because the module has declared that it gets no larger than it is.
func (m *memory) restore(saved snapshot, guest api.Memory) bool {
	clear(m.buf[:saved.at])
	copy(m.buf[saved.at:], saved.data)
	clear(m.buf[saved.at+len(saved.data):])
	if len(m.buf) == saved.size {
		return true
	}
	m.buf = m.buf[:saved.size]
	// The runtime has its own idea of the size, and asks for it anew when a memory
	// grows.
	m.shrink = true
	_, ok := guest.Grow(1)
	return ok
}
