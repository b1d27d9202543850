package wasmedit

// ofHostCall are the units of a call of an imported function: leaving the sandbox
// and coming back takes as long as so many instructions.
const hostCallUnits = 64

// ofPay are the units of pay's own instructions: the shortest loop pays for more
// than its branch.
const chargeUnits = 9

// pay subtracts units and refills, or traps, if less than nothing is left.
func (ins *instrumenter) emitCharge(out []byte, p *charge, fuelLocal uint64) []byte {
	refill := opCall.append(nil, uint64(ins.refill))
	if p.exclusive {
		refill = ins.loadFuel(refill, fuelLocal)
		out = opLocalGet.append(out, fuelLocal)
	} else {
		out = opGlobalGet.append(out, uint64(ins.fuel))
	}
	out = opI64Const.appendSigned(out, p.units+chargeUnits)
	out = append(out, byte(opI64Sub))
	out = opLocalTee.append(out, fuelLocal)
	out = opGlobalSet.append(out, uint64(ins.fuel))
	out = opLocalGet.append(out, fuelLocal)
	return ifNegative(out, refill)
}

// look puts what is left into the local.
func (ins *instrumenter) loadFuel(out []byte, fuelLocal uint64) []byte {
	return opLocalSet.append(opGlobalGet.append(out, uint64(ins.fuel)), fuelLocal)
}

// ifNegative does something if a number on the stack is less than zero.
func ifNegative(out, then []byte) []byte {
	out = opI64Const.appendSigned(out, 0)
	out = append(out, byte(opI64LtS), byte(opIf), emptyBlockType)
	return append(append(out, then...), byte(opEnd))
}

// void is the type of a block without parameters and results.
const emptyBlockType = 0x40

func (ins *instrumenter) addFuel() {
	ins.addGlobal(Global{I64, true}, zeroOf(I64))
	ins.addExport(ExportFuel, KindGlobal, ins.fuel)
	ins.addGlobal(Global{I64, true}, zeroOf(I64))
	ins.addExport(ExportReserve, KindGlobal, ins.fuel+1)
}

// Slice is how many units a module may use in one go: far less than a millisecond's
// of most code, and enough that what happens in between costs nothing.
const Slice = 1_000_000

// addRefill adds the function () -> () that takes a slice of the reserve, or what is
// left of it.
func (ins *instrumenter) addRefill() {
	fuel, reserve := uint64(ins.fuel), uint64(ins.fuel)+1
	var code []byte
	if len(ins.m.Memories) > 0 {
		code = append(opI32Const.appendSigned(code, 0), byte(opMemoryGrow), 0, byte(opDrop))
	}
	code = opI64Const.appendSigned(code, Slice) // so much that there is a slice then
	code = opGlobalGet.append(code, fuel)
	code = append(code, byte(opI64Sub))
	code = opLocalTee.append(code, 0)
	code = opGlobalGet.append(code, reserve)
	code = append(code, byte(opI64GtS), byte(opIf), emptyBlockType)
	code = opLocalSet.append(opGlobalGet.append(code, reserve), 0)
	code = append(code, byte(opEnd))

	code = opLocalGet.append(opGlobalGet.append(code, reserve), 0)
	code = opGlobalSet.append(append(code, byte(opI64Sub)), reserve)
	code = opLocalGet.append(opGlobalGet.append(code, fuel), 0)
	code = opGlobalSet.append(append(code, byte(opI64Add)), fuel)
	code = ifNegative(opGlobalGet.append(code, fuel), []byte{byte(opUnreachable)})
	ins.addFunction(FuncType{}, []byte{1, 1, byte(I64)}, code)
}

// bytesPerUnit is what a bulk operation moves for one unit of fuel, as a power of
// two. Eight bytes are what a store of one instruction moves.
const bytesPerUnit = 3

// addCharge adds the function through which the number of bytes or elements goes
// that a bulk operation is about to take from the stack.
func (ins *instrumenter) addBulkCharge() {
	code := opGlobalGet.append(nil, uint64(ins.fuel))
	code = opLocalGet.append(code, 0)
	code = append(code, byte(opI64ExtendI32U))
	code = opI64Const.appendSigned(code, bytesPerUnit)
	code = append(code, byte(opI64ShrU), byte(opI64Sub))
	code = opLocalTee.append(code, 1)
	code = opGlobalSet.append(code, uint64(ins.fuel))
	code = opLocalGet.append(code, 1)
	code = ifNegative(code, opCall.append(nil, uint64(ins.refill)))
	code = opLocalGet.append(code, 0)
	ins.addFunction(FuncType{Params: []ValueType{I32}, Results: []ValueType{I32}}, []byte{1, 1, byte(I64)}, code)
}
