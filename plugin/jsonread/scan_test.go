package jsonread

import "testing"

// Every distance between bytes that count, with neighbours that differ from them
// in one bit.
func TestStringEnd(t *testing.T) {
	for n := range 40 {
		for _, fill := range []byte{'x', '"' + 1, '"' - 1, '\\' + 1, '\\' - 1, '"' | 0x80, '\\' | 0x80, 0, 0xff} {
			b := make([]byte, n+1)
			for i := range b {
				b[i] = fill
			}
			b[n] = '"'
			if got := StringEnd(string(b), 0); got != n {
				t.Errorf("StringEnd of %d times %#x = %d", n, fill, got)
			}
			b = append(b, `x"`...)
			b[n] = '\\'
			if got, escaped := stringEnd(string(b), 0); got != n+2 || !escaped {
				t.Errorf("stringEnd behind %d times %#x and an escape = %d, %v", n, fill, got, escaped)
			}
			if got := StringEnd(string(b[:n+1]), 0); got != n+1 {
				t.Errorf("StringEnd without an end = %d", got)
			}
		}
	}
}
