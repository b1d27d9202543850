package wasmtest

import "bytes"

// Code concatenates instructions.
func Code(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Instructions with fixed operands, and an endless loop.
var (
	Unreachable = []byte{0x00}
	Drop        = []byte{0x1a}
	LoadU8      = []byte{0x31, 0, 0} // i64.load8_u
	LoadU64     = []byte{0x29, 0, 0} // i64.load, unaligned
	StoreU64    = []byte{0x37, 0, 0} // i64.store, unaligned
	I64Add      = []byte{0x7c}
	I32WrapI64  = []byte{0xa7}
	GrowMemory  = []byte{0x40, 0} // memory.grow
	FillMemory  = []byte{0xfc, 0x0b, 0}
	Forever     = []byte{0x03, 0x40, 0x0c, 0, 0x0b}
)

// I64 returns code that pushes an i64 constant.
func I64(v int64) []byte { return sleb([]byte{0x42}, v) }

// I32 returns code that pushes an i32 constant.
func I32(v int32) []byte { return sleb([]byte{0x41}, int64(v)) }

// Call returns code that calls function n.
func Call(n int) []byte { return uleb([]byte{0x10}, uint64(n)) }

// Get returns code that pushes local n.
func Get(n int) []byte { return uleb([]byte{0x20}, uint64(n)) }

// Set returns code that pops a value into local n.
func Set(n int) []byte { return uleb([]byte{0x21}, uint64(n)) }

// GetGlobal returns code that pushes global n.
func GetGlobal(n int) []byte { return uleb([]byte{0x23}, uint64(n)) }

// SetGlobal returns code that pops a value into global n.
func SetGlobal(n int) []byte { return uleb([]byte{0x24}, uint64(n)) }

// Loop returns code that repeats a body forever.
func Loop(body ...[]byte) []byte {
	return Code([]byte{0x03, 0x40}, Code(body...), []byte{0x0c, 0, 0x0b})
}

// Repeat returns code that runs a body n times, n > 0. The code counts down in an i64
// local.
func Repeat(local int, n int64, body ...[]byte) []byte {
	return Code(
		I64(n), Set(local),
		[]byte{0x03, 0x40}, Code(body...),
		Get(local), I64(-1), I64Add, uleb([]byte{0x22}, uint64(local)), // local.tee
		[]byte{0x50, 0x45, 0x0d, 0, 0x0b}, // i64.eqz, i32.eqz, br_if 0
	)
}

func sleb(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
