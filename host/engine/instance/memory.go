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

// image is what a memory was.
type image struct {
	head []byte // what follows it is zero
	size int
}

func (m *memory) image() image {
	end := len(m.buf)
	for end > 0 && m.buf[end-1] == 0 {
		end--
	}
	return image{append([]byte(nil), m.buf[:end]...), len(m.buf)}
}

// restore makes the memory what it was, its size included. It reports false if
// it could not, because the module has declared that it gets no larger than it is.
func (m *memory) restore(was image, guest api.Memory) bool {
	copy(m.buf, was.head)
	clear(m.buf[len(was.head):])
	if len(m.buf) == was.size {
		return true
	}
	m.buf = m.buf[:was.size]
	// The runtime has its own idea of the size, and asks for it anew when a memory
	// grows.
	m.shrink = true
	_, ok := guest.Grow(1)
	return ok
}
