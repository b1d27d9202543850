package wasmedit

import "unicode/utf8"

// reader reads a module's bytes. It keeps the first error in err. After an error, every
// read returns a zero value and done returns true.
type reader struct {
	data []byte
	pos  int
	base int // offset of data in the module
	err  error
}

func (r *reader) done() bool { return r.err != nil || r.pos >= len(r.data) }

// fail sets the error unless there already is one.
func (r *reader) fail(at int, format string, args ...any) {
	if r.err == nil {
		r.err = errorAt(r.base+at, format, args...)
	}
}

func (r *reader) byte() byte {
	if r.done() {
		r.fail(r.pos, "the module or section ends too early")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

func (r *reader) bytes(n int) []byte {
	if r.err != nil {
		return nil
	}
	if left := len(r.data) - r.pos; n < 0 || n > left {
		r.fail(r.pos, "%d bytes are announced and %d follow", uint32(n), left)
		return nil
	}
	b := r.data[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return b
}

// uint reads an unsigned LEB128 number of at most bits bits.
func (r *reader) uint(bits int) uint64 {
	start := r.pos
	var v uint64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if left := bits - shift; left < 8 && b>>max(left, 0) != 0 {
			r.fail(start, "number is longer than %d bits", bits)
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

// sint reads a signed LEB128 number of at most bits bits.
func (r *reader) sint(bits int) int64 {
	start := r.pos
	var v int64
	for shift := 0; ; {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		v |= int64(b&0x7f) << shift
		shift += 7
		if left := bits - shift; left <= 0 {
			// The unused bits must equal the sign bit.
			if sign := int8(b<<1) >> (7 + left); b >= 0x80 || sign != 0 && sign != -1 {
				r.fail(start, "number is longer than %d bits", bits)
				return 0
			}
		}
		if b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (r *reader) u32() uint32 { return uint32(r.uint(32)) }

// count reads the length of a vector. Each element takes at least each bytes; count
// fails if fewer bytes are left.
func (r *reader) count(each int) int {
	start := r.pos
	n := int64(r.u32())
	if left := int64(len(r.data) - r.pos); r.err == nil && n*int64(each) > left {
		r.fail(start, "%d elements are announced and only %d bytes follow", n, left)
		return 0
	}
	return int(n)
}

func (r *reader) name() string {
	start := r.pos
	b := r.bytes(r.count(1))
	if !utf8.Valid(b) {
		r.fail(start, "name is not valid UTF-8")
		return ""
	}
	return string(b)
}
