package instance

import (
	"bytes"
	"testing"
)

// TestRestore takes snapshots of memories with data at different offsets, overwrites
// every byte, and restores them.
func TestRestore(t *testing.T) {
	const size = 1 << 10
	for _, c := range []struct {
		name     string
		from, to int
	}{
		{"all zero", 0, 0},
		{"at the start", 0, 10},
		{"in the middle", 100, 200},
		{"at the end", size - 10, size},
		{"everywhere", 0, size},
		{"one byte", 500, 501},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &memory{limit: size}
			buf := m.Reallocate(size)
			for i := c.from; i < c.to; i++ {
				buf[i] = byte(i) | 1
			}
			want, saved := bytes.Clone(buf), m.snapshot()
			if len(saved.data) != c.to-c.from {
				t.Errorf("the snapshot has %d bytes, want %d", len(saved.data), c.to-c.from)
			}
			for i := range buf {
				buf[i] ^= 0xaa
			}
			if !m.restore(saved, nil) || !bytes.Equal(buf, want) {
				t.Error("the memory differs from the snapshot")
			}
		})
	}
}
