package wasmedit

// Exports that CountInstructions adds: mutable i64 globals.
const (
	ExportCount   = "test.count"   // units of the instructions that ran
	ExportCharges = "test.charges" // number of function calls and loop iterations
)

// DropCustoms drops the custom sections that Instrument drops.
func (m *Module) DropCustoms() { m.dropCustoms() }

// CountInstructions makes the module count each instruction before it runs. It is a
// slow and simple alternative to the fuel, for tests to compare. It returns the units
// of all instructions of the longest function.
func (m *Module) CountInstructions() (longest int64) {
	ins := instrumenter{m: m, own: len(m.functions) - m.count(KindFunc), fuel: uint32(len(m.Globals))}
	ins.bulkCharge = uint32(len(m.functions))
	count, charges := uint64(ins.fuel), uint64(ins.fuel)+1
	s := m.find(idCode)
	r := &reader{data: s.body}
	for range r.count(1) {
		size := r.count(1)
		end := r.pos + size
		from := r.pos
		each(r, 2, func() { r.u32(); r.valueType() })
		out := increase(append([]byte(nil), r.data[from:r.pos]...), charges, 1)
		units := int64(0)
		for r.pos < end {
			i := m.instruction(r)
			cost := int64(1)
			switch i.op {
			case opCall:
				if int(i.index) < m.count(KindFunc) {
					cost = 64
				}
			case opCallIndirect:
				if m.indirectImports {
					cost = 64
				}
			case opMemoryFill, opMemoryCopy, opMemoryInit, opTableFill, opTableCopy, opTableInit, opTableGrow:
				out = opCall.append(out, uint64(ins.bulkCharge))
			}
			units += cost
			out = increase(out, count, cost)
			out = append(out, r.data[i.from:i.to]...)
			if i.op == opLoop {
				out = increase(out, charges, 1)
			}
		}
		if r.err != nil {
			panic(r.err)
		}
		ins.bodies = append(ins.bodies, out)
		longest = max(longest, units)
	}
	ins.addGlobal(Global{I64, true}, zeroOf(I64))
	ins.addGlobal(Global{I64, true}, zeroOf(I64))
	ins.addExport(ExportCount, KindGlobal, uint32(count))
	ins.addExport(ExportCharges, KindGlobal, uint32(charges))
	// A function (i32) -> (i32) adds an eighth of its parameter to the count, and
	// returns the parameter.
	code := opGlobalGet.append(nil, count)
	code = opLocalGet.append(code, 0)
	code = append(code, byte(opI64ExtendI32U), byte(opI64Const), 8, 0x80, byte(opI64Add)) // i64.div_u
	code = opGlobalSet.append(code, count)
	code = opLocalGet.append(code, 0)
	ins.addFunction(FuncType{Params: []ValueType{I32}, Results: []ValueType{I32}}, []byte{0}, code)
	ins.write()
	return longest
}

func increase(out []byte, global uint64, by int64) []byte {
	out = opGlobalGet.append(out, global)
	out = opI64Const.appendSigned(out, by)
	return opGlobalSet.append(append(out, byte(opI64Add)), global)
}
