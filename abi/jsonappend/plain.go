package jsonappend

import "math/bits"

// PlainEnd returns the index of the first byte at or after i that is not plain ASCII in a
// JSON string: a quote, a backslash, a control character, or a byte above 0x7F. It
// returns len(text) if all bytes are plain.
//
// Most text in messages is plain. The function examines eight bytes at a time, because
// every iteration of a loop costs the guest fuel.
func PlainEnd[T []byte | string](text T, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(text) {
		v := Load64(text[i:])
		quote := v ^ ones*'"'
		slash := v ^ ones*'\\'
		// The high bit of each matching byte is set. Borrows may set more bits above
		// the first matching byte, but none below it.
		found := (v | ((v-ones*0x20)|(quote-ones)|(slash-ones))&^v) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
		i += 8
	}
	for i < len(text) {
		if c := text[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			break
		}
		i++
	}
	return i
}

// Load64 reads eight bytes in little-endian order.
func Load64[T []byte | string](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
