package instance

import (
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// memory is the linear memory of one instance. Unlike the runtime's own memory it can
// shrink, so that an instance that grew can be reset.
type memory struct {
	buf    []byte // its length is the memory's size; the bytes between length and capacity are zero
	limit  uint64 // bytes
	shrink bool   // restore has shrunk buf: the next Reallocate ignores the requested size
}

var (
	_ experimental.MemoryAllocator = (*memory)(nil)
	_ experimental.LinearMemory    = (*memory)(nil)
)

// Allocate implements experimental.MemoryAllocator. The runtime calls it once, because
// a module has one memory.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate returns the memory with a new size, or nil if the size exceeds the limit.
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

// snapshot is the contents of a memory without leading and trailing zeros. Many
// compilers place the stack below the data, so a memory starts with many zeros, and
// clearing bytes takes half as long as copying them.
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

// restore resets the contents and the size to a snapshot. It returns false if the
// memory must shrink but has reached the module's declared maximum.
func (m *memory) restore(saved snapshot, guest api.Memory) bool {
	clear(m.buf[:saved.at])
	copy(m.buf[saved.at:], saved.data)
	clear(m.buf[saved.at+len(saved.data):])
	if len(m.buf) == saved.size {
		return true
	}
	m.buf = m.buf[:saved.size]
	// The runtime caches the size and rereads it only when the memory grows, so let it
	// grow: Reallocate then returns the shrunk buf.
	m.shrink = true
	_, ok := guest.Grow(1)
	return ok
}
