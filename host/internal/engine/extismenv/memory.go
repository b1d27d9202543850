package extismenv

import "sort"

// memory holds the blocks that a plugin allocates in the environment, one after another
// in one buffer. An offset must be inside a block that the plugin has not freed. A call
// needs few blocks, so release reclaims space only at the end of the buffer. reset
// reclaims all of it.
type memory struct {
	buf    []byte
	blocks []block // in the order of their offsets
	last   int     // index of the block used last, for fast repeated access
	limit  int     // bytes, including the overhead of blocks
}

// block is buf[off:off+size]. A block of n bytes counts as n rounded up to eight, plus
// overhead.
type block struct {
	off, size uint64
	free      bool
}

const (
	// base is the offset of the first block. Offset 0 must be invalid; with a larger
	// base, small numbers that are not offsets are invalid too.
	base     = 64
	overhead = 16
	// maxReused and maxReusedBlocks are the largest capacities that reset keeps.
	maxReused       = 4 << 20
	maxReusedBlocks = 4 << 10
)

func (m *memory) reset() {
	m.last = 0
	if cap(m.buf) > maxReused || cap(m.blocks) > maxReusedBlocks {
		m.buf, m.blocks = nil, nil
	}
	m.buf, m.blocks = m.buf[:0], m.blocks[:0]
}

// end returns the offset of the next block.
func (m *memory) end() uint64 {
	if len(m.blocks) == 0 {
		return base
	}
	b := &m.blocks[len(m.blocks)-1]
	return b.off + (b.size+7)&^7 + overhead
}

// alloc creates a block. The caller must overwrite or clear its bytes: they may contain
// data of an earlier call.
func (m *memory) alloc(n uint64) (off uint64, bytes []byte, err *Fault) {
	off = m.end()
	if room := uint64(m.limit) - min(off, uint64(m.limit)); n > room || n+8+overhead > room {
		return 0, nil, limitf("%d more bytes do not fit into the environment's memory: %d of %d are in use", n, off, m.limit)
	}
	if need := int(off + n); need > cap(m.buf) {
		grown := make([]byte, need, min(max(2*cap(m.buf), need, 4096), m.limit))
		copy(grown, m.buf)
		m.buf = grown
	} else if need > len(m.buf) {
		m.buf = m.buf[:need]
	}
	m.blocks = append(m.blocks, block{off: off, size: n})
	m.last = len(m.blocks) - 1
	return off, m.buf[off : off+n : off+n], nil
}

// put creates a block with a copy of b. If b is empty, put creates no block and returns
// 0.
func (m *memory) put(b []byte) (off uint64, err *Fault) {
	if len(b) == 0 {
		return 0, nil
	}
	off, dst, err := m.alloc(uint64(len(b)))
	copy(dst, b)
	return off, err
}

// find returns the block that contains p, or nil. It ignores freed blocks.
func (m *memory) find(p uint64) *block {
	if m.last < len(m.blocks) {
		if b := &m.blocks[m.last]; p-b.off < b.size && !b.free {
			return b
		}
	}
	i := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].off > p }) - 1
	if i < 0 {
		return nil
	}
	b := &m.blocks[i]
	if p-b.off >= b.size || b.free {
		return nil
	}
	m.last = i
	return b
}

// at returns the block that begins at p, or nil. It ignores freed blocks.
func (m *memory) at(p uint64) *block {
	if b := m.find(p); b != nil && b.off == p {
		return b
	}
	return nil
}

// span returns the n bytes at p, which must lie within one block.
func (m *memory) span(op string, p, n uint64) ([]byte, *Fault) {
	b := m.find(p)
	if b == nil {
		return nil, accessf("%s: offset %d lies in no allocated block", op, p)
	}
	if n > b.size-(p-b.off) {
		return nil, accessf("%s: %d bytes at offset %d reach past their block, which ends at %d", op, n, p, b.off+b.size)
	}
	return m.buf[p : p+n : p+n], nil
}

// contents returns the bytes of the block that begins at p.
func (m *memory) contents(op string, p uint64) ([]byte, *Fault) {
	b := m.at(p)
	if b == nil {
		return nil, accessf("%s: no allocated block begins at offset %d", op, p)
	}
	return m.buf[p : p+b.size : p+b.size], nil
}

// release frees the block that begins at p. Like Extism, it ignores other offsets.
func (m *memory) release(p uint64) {
	b := m.at(p)
	if b == nil {
		return
	}
	b.free = true
	for n := len(m.blocks); n > 0 && m.blocks[n-1].free; n-- {
		m.blocks = m.blocks[:n-1]
	}
}
