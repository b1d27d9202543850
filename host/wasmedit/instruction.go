package wasmedit

import (
	"encoding/binary"
	"fmt"
)

// opcode is the opcode of an instruction. The high byte is the prefix byte, or 0 if the
// opcode has none.
type opcode uint16

// Opcodes that this package emits or handles specially.
const (
	opUnreachable   opcode = 0x00
	opBlock         opcode = 0x02
	opLoop          opcode = 0x03
	opIf            opcode = 0x04
	opElse          opcode = 0x05
	opEnd           opcode = 0x0b
	opBr            opcode = 0x0c
	opBrIf          opcode = 0x0d
	opBrTable       opcode = 0x0e
	opReturn        opcode = 0x0f
	opCall          opcode = 0x10
	opCallIndirect  opcode = 0x11
	opDrop          opcode = 0x1a
	opLocalGet      opcode = 0x20
	opLocalSet      opcode = 0x21
	opLocalTee      opcode = 0x22
	opGlobalGet     opcode = 0x23
	opGlobalSet     opcode = 0x24
	opTableSet      opcode = 0x26
	opMemoryGrow    opcode = 0x40
	opI32Const      opcode = 0x41
	opI64Const      opcode = 0x42
	opF32Const      opcode = 0x43
	opF64Const      opcode = 0x44
	opI64LtS        opcode = 0x53
	opI64GtS        opcode = 0x55
	opI64Add        opcode = 0x7c
	opI64Sub        opcode = 0x7d
	opI64ShrU       opcode = 0x88
	opI64ExtendI32U opcode = 0xad
	opRefNull       opcode = 0xd0
	opRefFunc       opcode = 0xd2
	opMemoryInit    opcode = 0xfc08
	opDataDrop      opcode = 0xfc09
	opMemoryCopy    opcode = 0xfc0a
	opMemoryFill    opcode = 0xfc0b
	opTableInit     opcode = 0xfc0c
	opElemDrop      opcode = 0xfc0d
	opTableCopy     opcode = 0xfc0e
	opTableGrow     opcode = 0xfc0f
	opTableFill     opcode = 0xfc11
	opV128Const     opcode = 0xfd0c
)

// shape describes the operands of an opcode.
type shape byte

const (
	unknown   shape = iota // the opcode is not in WebAssembly 2.0
	plain                  // no operands
	blockType              // a value type, the empty type, or a type index
	index                  // one index
	function               // the index of a function
	global                 // the index of a global
	indices2               // two indices
	indirect               // the indices of a type and a table
	labels                 // a vector of labels and the default label
	types                  // a vector of value types
	refType                // a reference type
	memArg                 // alignment and offset
	zero                   // a zero byte: the index of the only memory
	zeroZero               // two zero bytes
	indexZero              // an index and a zero byte
	int32s                 // a signed 32-bit number
	int64s                 // a signed 64-bit number
	bytes4
	bytes8
	bytes16
	lane       // a byte
	memArgLane // alignment, offset and a byte
)

// Shapes of the opcodes without a prefix, with prefix 0xfc, and with prefix 0xfd.
var (
	shapes     = fill([256]shape{}, plain, 0x45, 0xc4)
	shapesBulk = fill([256]shape{}, plain, 0x00, 0x07) // saturating truncation
	shapesSIMD = fill([256]shape{}, plain, 0x0e, 0xff)
)

// fill returns s with the shapes from from to to replaced.
func fill(s [256]shape, with shape, from, to int) [256]shape {
	for op := from; op <= to; op++ {
		s[op] = with
	}
	return s
}

func init() {
	set := func(s *[256]shape, with shape, ops ...byte) {
		for _, op := range ops {
			s[op] = with
		}
	}
	set(&shapes, plain, 0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1)
	set(&shapes, blockType, 0x02, 0x03, 0x04)
	set(&shapes, index, 0x0c, 0x0d, 0x20, 0x21, 0x22, 0x25, 0x26) // br, br_if, local.*, table.*
	set(&shapes, labels, 0x0e)
	set(&shapes, function, 0x10, 0xd2)
	set(&shapes, indirect, 0x11)
	set(&shapes, types, 0x1c)
	set(&shapes, global, 0x23, 0x24)
	shapes = fill(shapes, memArg, 0x28, 0x3e)
	set(&shapes, zero, 0x3f, 0x40)
	set(&shapes, int32s, 0x41)
	set(&shapes, int64s, 0x42)
	set(&shapes, bytes4, 0x43)
	set(&shapes, bytes8, 0x44)
	set(&shapes, refType, 0xd0)

	set(&shapesBulk, indexZero, 0x08)
	set(&shapesBulk, index, 0x09, 0x0d, 0x0f, 0x10, 0x11)
	set(&shapesBulk, zeroZero, 0x0a)
	set(&shapesBulk, zero, 0x0b)
	set(&shapesBulk, indices2, 0x0c, 0x0e)

	shapesSIMD = fill(shapesSIMD, memArg, 0x00, 0x0b)
	set(&shapesSIMD, bytes16, 0x0c, 0x0d)
	shapesSIMD = fill(shapesSIMD, lane, 0x15, 0x22)
	shapesSIMD = fill(shapesSIMD, memArgLane, 0x54, 0x5b)
	set(&shapesSIMD, memArg, 0x5c, 0x5d)
	set(&shapesSIMD, unknown, 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6,
		0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee)
}

// instruction is one instruction. Its bytes begin at from and end before to.
type instruction struct {
	op       opcode
	from, to int
	index    uint32   // the operand, if it is a single index; for br_table, the default label
	labels   []uint32 // for br_table, the other labels
}

// instruction reads one instruction. It fails if an operand is the index of a type,
// function or global that the original module does not have, because Instrument may add
// an entry with that index.
func (m *Module) instruction(r *reader) instruction {
	i := instruction{from: r.pos}
	first := r.byte()
	i.op = opcode(first)
	s := shapes[first]
	if table := prefixShapes(first); table != nil {
		sub := r.u32()
		s = unknown
		if sub < uint32(len(table)) {
			s = table[sub]
		}
		i.op = opcode(first)<<8 | opcode(sub&0xff)
		if s == unknown {
			r.fail(i.from, "unknown instruction 0x%02x %d", first, sub)
		}
		// wazero reads only one byte of the number after this prefix, and interprets a
		// second byte as the next instruction. In the shortest form a second byte is
		// always 1, a nop.
		if first == prefixSIMD && r.err == nil && r.pos-i.from-1 != len(binary.AppendUvarint(nil, uint64(sub))) {
			r.fail(i.from, "instruction 0x%02x %d is not in its shortest form", first, sub)
		}
	} else if s == unknown {
		r.fail(i.from, "unknown instruction 0x%02x", first)
	}
	if s == labels {
		each(r, 1, func() { i.labels = append(i.labels, r.u32()) })
		i.index = r.u32()
	} else {
		i.index = m.operands(r, s)
	}
	i.to = r.pos
	return i
}

// Prefix bytes of opcodes.
const (
	prefixBulk = 0xfc
	prefixSIMD = 0xfd
)

// prefixShapes returns the shapes of the opcodes with a prefix byte, or nil if the byte
// is not a prefix.
func prefixShapes(first byte) *[256]shape {
	switch first {
	case prefixBulk:
		return &shapesBulk
	case prefixSIMD:
		return &shapesSIMD
	}
	return nil
}

// operands reads the operands of an instruction. If the only operand is an index,
// operands returns it.
func (m *Module) operands(r *reader, s shape) uint32 {
	switch s {
	case unknown, plain:
	case blockType:
		m.blockType(r)
	case index:
		return r.u32()
	case function:
		return m.indexBelow(r, len(m.functions), "function")
	case global:
		return m.indexBelow(r, len(m.Globals), "global")
	case indices2:
		r.u32()
		r.u32()
	case indirect:
		m.typeIndex(r)
		r.u32()
	case types:
		r.valueTypes()
	case refType:
		r.refType()
	case memArg:
		r.memArg()
	case zero:
		r.zero()
	case zeroZero:
		r.zero()
		r.zero()
	case indexZero:
		r.u32()
		r.zero()
	case int32s:
		r.sint(32)
	case int64s:
		r.sint(64)
	case bytes4:
		r.bytes(4)
	case bytes8:
		r.bytes(8)
	case bytes16:
		r.bytes(16)
	case lane:
		r.byte()
	case memArgLane:
		r.memArg()
		r.byte()
	default:
		panic(fmt.Sprintf("wasmedit: no reader for shape %d", s))
	}
	return 0
}

// blockType reads the type of a block: the index of a function type, or a one-byte
// negative number for a value type or the empty type.
func (m *Module) blockType(r *reader) {
	at := r.pos
	switch n := r.sint(33); {
	case r.err != nil || n == -0x40:
	case n < 0:
		if r.pos-at != 1 {
			r.fail(at, "unknown block type %d", n)
			return
		}
		r.pos = at
		r.valueType()
	case n >= int64(len(m.Types)):
		r.fail(at, "type index %d, but there are %d types", n, len(m.Types))
	}
}

// indexBelow reads an index that must be less than n.
func (m *Module) indexBelow(r *reader, n int, kind string) uint32 {
	at := r.pos
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(n) {
		r.fail(at, "%s index %d, but there are %d", kind, i, n)
	}
	return i
}

func (r *reader) zero() {
	at := r.pos
	if b := r.byte(); b != 0 {
		r.fail(at, "memory index %d, but a module has one memory", b)
	}
}

func (r *reader) memArg() {
	at := r.pos
	// The engine checks alignments. Values from 32 on have another meaning in the
	// proposal for multiple memories.
	if align := r.u32(); align >= 32 {
		r.fail(at, "alignment 2^%d", align)
	}
	r.u32()
}

// constant reads a constant expression, including its end instruction.
func (m *Module) constant(r *reader) {
	for {
		at := r.pos
		switch i := m.instruction(r); {
		case r.err != nil || i.op == opEnd:
			return
		case i.op == opBlock || i.op == opLoop || i.op == opIf:
			r.fail(at, "a block in a constant expression")
			return
		case i.op == opRefFunc:
			m.noteReference(i.index)
		}
	}
}
