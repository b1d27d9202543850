package wasmedit

import (
	"encoding/binary"
	"slices"
)

// Exports that Instrument adds.
const (
	ExportFuel    = "parley.fuel"    // mutable i64 global: units left in the current quantum; negative: exhausted
	ExportReserve = "parley.reserve" // mutable i64 global: units left beyond the current quantum
	ExportStart   = "parley.start"   // () -> (): calls the module's start function and _initialize
	ExportSave    = "parley.save"    // () -> (): saves the value of every mutable global
	ExportRestore = "parley.restore" // () -> (): restores the saved value of every mutable global
)

// initialize is the name of the export of a reactor that its host must call first.
const initialize = "_initialize"

// Instrumented describes an instrumented module.
type Instrumented struct {
	// Start reports whether the module has ExportStart. The host must call it before
	// any other export.
	Start bool
	// Globals reports whether the module has mutable globals of its own, and therefore
	// ExportSave and ExportRestore.
	Globals bool
	// Volatile reports whether the module can change its tables or drop segments. The
	// host cannot reset this state, so it must not reuse an instance.
	Volatile bool
}

// Instrument instruments the module, so that a host can bound its running time and reset an
// instance. The results of the module's computations stay the same.
//
//   - Fuel: An instruction costs one unit. A call of an imported function costs 64
//     units. So does every indirect call if a table may contain an imported function:
//     if an element segment, global or export refers to one, or if a table is imported
//     or exported. The module subtracts fuel (a charge) at the start of each function
//     and of each iteration of a loop. A charge covers the longest path to the next
//     charge, and the instructions of the charge itself. Bulk operations on memories
//     and tables cost one more unit per eight bytes or elements. When ExportFuel
//     becomes negative, the module refills it to one quantum (Quantum) from
//     ExportReserve, and traps if it stays negative. Both globals are zero until the
//     host sets them. Compiled code cannot be preempted, not even by the host's garbage
//     collector. So at each refill the module enters the host by growing its memory, if
//     it has one, by zero pages.
//   - Reset: ExportSave and ExportRestore save and restore the module's own mutable
//     globals. The host must restore the memory itself.
//   - Start: The module no longer has a start function, because that function would run
//     before the host can set the fuel. The host must call ExportStart instead, which
//     calls the original start function and then an exported _initialize.
//   - Custom sections: Instrument drops them, except one well-formed name section.
//
// Instrument checks the operands of every instruction, so that no instruction refers to
// an added function, global or type. It fails with an *Error on instructions outside of
// WebAssembly 2.0, on a module beyond the bounds of bounds.go, and on a module that
// already has one of these exports. After an error the module is unchanged.
func (m *Module) Instrument() (Instrumented, error) {
	for _, name := range []string{ExportFuel, ExportReserve, ExportStart, ExportSave, ExportRestore} {
		if m.Export(name) != nil {
			return Instrumented{}, errorAt(0, "the module exports %q itself", name)
		}
	}
	if init := m.Export(initialize); init != nil && (init.Kind != KindFunc || !init.Type.Equal(FuncType{})) {
		return Instrumented{}, errorAt(0, "the export %s is not a function () -> ()", init)
	}
	ins := instrumenter{m: m, own: len(m.functions) - m.count(KindFunc), fuel: uint32(len(m.Globals))}
	if err := ins.rewriteCode(); err != nil {
		return Instrumented{}, err
	}
	m.dropCustoms()
	ins.addFuel()
	ins.addBulkCharge()
	ins.addRefill()
	ins.result.Globals = ins.addRestore()
	ins.result.Start = ins.addStart()
	ins.write()
	return ins.result, nil
}

// instrumenter collects the additions to a module.
type instrumenter struct {
	m   *Module
	own int // number of functions that are not imported

	totalLocals uint64
	totalLoops  int

	fuel       uint32 // index of the global ExportFuel; ExportReserve is the next global
	bulkCharge uint32 // index of the function that charges a bulk operation
	refill     uint32 // index of the function that moves a quantum from the reserve
	result     Instrumented

	bodies  [][]byte // function bodies: the rewritten ones, then the added ones
	globals []byte   // added entries of the global section
}

// rewriteCode adds charges to every function.
func (ins *instrumenter) rewriteCode() error {
	ins.bulkCharge = uint32(len(ins.m.functions))
	ins.refill = ins.bulkCharge + 1
	s := ins.m.find(idCode)
	if s == nil {
		return nil
	}
	r := &reader{data: s.body, base: s.at}
	imported := len(ins.m.functions) - ins.own
	n := r.count(3)
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		size := r.count(1)
		if size > maxBody {
			r.exceeds(at, size, "bytes in a function", maxBody)
		}
		body := &reader{data: r.data[:r.pos+size], pos: r.pos, base: r.base}
		if r.err == nil {
			ins.bodies = append(ins.bodies, ins.function(body, ins.m.Types[ins.m.functions[imported+i]]))
		}
		r.bytes(size)
		if body.err != nil {
			return body.err
		}
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// function reads the locals and the code of a function, and returns the body with the
// charges added.
func (ins *instrumenter) function(r *reader, t FuncType) []byte {
	locals := r.pos
	groups, count := ins.locals(r)
	code := r.pos
	// An additional local caches the fuel between the subtraction and the comparison,
	// and across the iterations of loops with exclusive charges. To read the global
	// right after writing it would take longer than a short iteration.
	fuelLocal := uint64(len(t.Params)) + count
	charges := ins.walk(r, fuelLocal)
	if r.err != nil {
		return nil
	}
	out := binary.AppendUvarint(make([]byte, 0, len(r.data)-locals+40*len(charges)+8), uint64(groups)+1)
	_, width := binary.Uvarint(r.data[locals:])
	out = append(out, r.data[locals+width:code]...)
	out = append(out, 1, byte(I64))
	from := code
	for _, c := range charges {
		if c.exclusive && !charges[c.outer].exclusive {
			// The unit of the loop instruction, for which engines emit no code, covers
			// this load.
			out = append(out, r.data[from:c.from]...)
			from = c.from
			out = ins.loadFuel(out, fuelLocal)
		}
		out = append(out, r.data[from:c.at]...)
		from = c.at
		if c.bulk {
			out = opCall.append(out, uint64(ins.bulkCharge))
		} else {
			out = ins.emitCharge(out, &c, fuelLocal)
		}
	}
	return append(out, r.data[from:]...)
}

// locals reads the declarations of the locals of a function. It returns the number of
// groups of equal types, and the number of locals.
func (ins *instrumenter) locals(r *reader) (groups int, count uint64) {
	at := r.pos
	groups = each(r, 2, func() {
		count += uint64(r.u32())
		r.valueType()
	})
	if count >= maxLocals {
		r.fail(at, "%d local variables, more than %d", count, maxLocals-1)
	}
	if ins.totalLocals += count; ins.totalLocals > maxTotalLocals {
		r.fail(at, "%d local variables in all functions, more than %d", ins.totalLocals, maxTotalLocals)
	}
	return groups, count
}

// walk reads the code of a function and returns its charges. locals is the number of
// its parameters and locals.
func (ins *instrumenter) walk(r *reader, locals uint64) []charge {
	p := newPath(r.pos)
	var branches, loops int
	for len(p.frames) > 0 && r.err == nil {
		i := ins.m.instruction(r)
		units := int64(1)
		if i.op == opCall && i.index < ins.m.imported || i.op == opCallIndirect && ins.m.indirectImports {
			units = hostCallUnits
		}
		p.step(r, &i, units)
		ins.count(r, &i, &branches, &loops)
		switch i.op {
		case opLocalGet, opLocalSet, opLocalTee:
			if uint64(i.index) >= locals {
				r.fail(i.from, "local index %d, but there are %d", i.index, locals)
			}
		case opMemoryInit, opMemoryCopy, opMemoryFill:
			p.bulk(i.from)
		case opTableInit, opTableCopy, opTableFill, opTableGrow:
			p.bulk(i.from)
			ins.result.Volatile = true
		case opTableSet, opElemDrop, opDataDrop:
			ins.result.Volatile = true
		}
	}
	if r.err == nil && !r.done() {
		r.fail(r.pos, "%d bytes are left after the end of a function", len(r.data)-r.pos)
	}
	return p.charges
}

// addRestore adds a global for the saved value of each of the module's own mutable
// globals, and the functions that save and restore the values. It returns false if the
// module has none of its own.
func (ins *instrumenter) addRestore() (found bool) {
	imported := ins.m.count(KindGlobal)
	var save, restore []byte
	for i, g := range ins.m.Globals[:ins.fuel] {
		if !g.Mutable || i < imported {
			continue
		}
		saved := uint64(len(ins.m.Globals))
		ins.addGlobal(g, zeroOf(g.Type))
		save = opGlobalSet.append(opGlobalGet.append(save, uint64(i)), saved)
		restore = opGlobalSet.append(opGlobalGet.append(restore, saved), uint64(i))
	}
	if save == nil {
		return false
	}
	ins.addExport(ExportSave, KindFunc, ins.addFunction(FuncType{}, []byte{0}, save))
	ins.addExport(ExportRestore, KindFunc, ins.addFunction(FuncType{}, []byte{0}, restore))
	return true
}

// zeroOf returns the constant expression of a type's zero value.
func zeroOf(t ValueType) []byte {
	switch t {
	case I32:
		return opI32Const.appendSigned(nil, 0)
	case I64:
		return opI64Const.appendSigned(nil, 0)
	case F32:
		return append([]byte{byte(opF32Const)}, make([]byte, 4)...)
	case F64:
		return append([]byte{byte(opF64Const)}, make([]byte, 8)...)
	case V128:
		return append(opV128Const.appendOpcode(nil), make([]byte, 16)...)
	}
	return []byte{byte(opRefNull), byte(t)}
}

// addStart replaces the start function and _initialize by an exported function that
// calls both. It returns false if the module has neither.
func (ins *instrumenter) addStart() (found bool) {
	var first []uint32
	if ins.m.Start != nil {
		first = append(first, *ins.m.Start)
		ins.m.remove(idStart)
		ins.m.Start = nil
	}
	if e := ins.m.Export(initialize); e != nil {
		first = append(first, e.Index)
		ins.m.Exports = slices.DeleteFunc(ins.m.Exports, func(e Export) bool { return e.Name == initialize })
	}
	if first == nil {
		return false
	}
	var code []byte
	for _, f := range first {
		code = opCall.append(code, uint64(f))
	}
	ins.addExport(ExportStart, KindFunc, ins.addFunction(FuncType{}, []byte{0}, code))
	return true
}

func (ins *instrumenter) addGlobal(g Global, value []byte) {
	mutable := byte(0)
	if g.Mutable {
		mutable = 1
	}
	ins.globals = append(append(append(ins.globals, byte(g.Type), mutable), value...), byte(opEnd))
	ins.m.Globals = append(ins.m.Globals, g)
}

func (ins *instrumenter) addExport(name string, kind Kind, index uint32) {
	e := Export{Name: name, Kind: kind, Index: index}
	if kind == KindFunc {
		e.Type = ins.m.Types[ins.m.functions[index]]
	}
	ins.m.Exports = append(ins.m.Exports, e)
}

// addFunction adds a function and returns its index; code is without its end
// instruction.
func (ins *instrumenter) addFunction(t FuncType, locals, code []byte) uint32 {
	ins.m.functions = append(ins.m.functions, uint32(len(ins.m.Types)))
	ins.m.Types = append(ins.m.Types, t)
	ins.bodies = append(ins.bodies, slices.Concat(locals, code, []byte{byte(opEnd)}))
	return uint32(len(ins.m.functions) - 1)
}

// write adds the collected entries to the sections.
func (ins *instrumenter) write() {
	m := ins.m
	added := len(ins.bodies) - ins.own
	var types, functions, code []byte
	for _, t := range m.functions[len(m.functions)-added:] {
		types = m.Types[t].append(types)
		functions = binary.AppendUvarint(functions, uint64(t))
	}
	for _, b := range ins.bodies {
		code = append(binary.AppendUvarint(code, uint64(len(b))), b...)
	}
	m.extend(idType, added, types)
	m.extend(idFunction, added, functions)
	m.extend(idGlobal, len(m.Globals)-int(ins.fuel), ins.globals)
	m.put(idExport, m.encodeExports())
	m.put(idCode, append(binary.AppendUvarint(nil, uint64(len(ins.bodies))), code...))
}
