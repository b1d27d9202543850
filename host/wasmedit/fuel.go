package wasmedit

// ofHostCall are the units of a call of an imported function: leaving the sandbox
// and coming back takes as long as so many instructions.
const ofHostCall = 64

// ofPay are the units of pay's own instructions: the shortest loop pays for more
// than its branch.
const ofPay = 9

// pay subtracts units and refills, or traps, if less than nothing is left.
func (h *hardener) pay(out []byte, p *payment, spare uint64) []byte {
	refill := opCall.append(nil, uint64(h.refill))
	if p.alone {
		refill = h.look(refill, spare)
		out = opLocalGet.append(out, spare)
	} else {
		out = opGlobalGet.append(out, uint64(h.fuel))
	}
	out = opI64Const.appendSigned(out, p.units+ofPay)
	out = append(out, byte(opI64Sub))
	out = opLocalTee.append(out, spare)
	out = opGlobalSet.append(out, uint64(h.fuel))
	out = opLocalGet.append(out, spare)
	return ifNegative(out, refill)
}

// look puts what is left into the local.
func (h *hardener) look(out []byte, spare uint64) []byte {
	return opLocalSet.append(opGlobalGet.append(out, uint64(h.fuel)), spare)
}

// ifNegative does something if a number on the stack is less than zero.
func ifNegative(out, then []byte) []byte {
	out = opI64Const.appendSigned(out, 0)
	out = append(out, byte(opI64LtS), byte(opIf), void)
	return append(append(out, then...), byte(opEnd))
}

// void is the type of a block without parameters and results.
const void = 0x40

func (h *hardener) addFuel() {
	h.addGlobal(Global{I64, true}, zeroOf(I64))
	h.addExport(ExportFuel, KindGlobal, h.fuel)
	h.addGlobal(Global{I64, true}, zeroOf(I64))
	h.addExport(ExportReserve, KindGlobal, h.fuel+1)
}

// Slice is how many units a module may use in one go: far less than a millisecond's
// of most code, and enough that what happens in between costs nothing.
const Slice = 1_000_000

// addRefill adds the function () -> () that takes a slice of the reserve, or what is
// left of it.
func (h *hardener) addRefill() {
	fuel, reserve := uint64(h.fuel), uint64(h.fuel)+1
	var code []byte
	if len(h.m.Memories) > 0 {
		code = append(opI32Const.appendSigned(code, 0), byte(opMemoryGrow), 0, byte(opDrop))
	}
	code = opI64Const.appendSigned(code, Slice) // so much that there is a slice then
	code = opGlobalGet.append(code, fuel)
	code = append(code, byte(opI64Sub))
	code = opLocalTee.append(code, 0)
	code = opGlobalGet.append(code, reserve)
	code = append(code, byte(opI64GtS), byte(opIf), void)
	code = opLocalSet.append(opGlobalGet.append(code, reserve), 0)
	code = append(code, byte(opEnd))

	code = opLocalGet.append(opGlobalGet.append(code, reserve), 0)
	code = opGlobalSet.append(append(code, byte(opI64Sub)), reserve)
	code = opLocalGet.append(opGlobalGet.append(code, fuel), 0)
	code = opGlobalSet.append(append(code, byte(opI64Add)), fuel)
	code = ifNegative(opGlobalGet.append(code, fuel), []byte{byte(opUnreachable)})
	h.addFunction(FuncType{}, []byte{1, 1, byte(I64)}, code)
}

// bytesPerUnit is what a bulk operation moves for one unit of fuel, as a power of
// two. Eight bytes are what a store of one instruction moves.
const bytesPerUnit = 3

// addCharge adds the function through which the number of bytes or elements goes
// that a bulk operation is about to take from the stack.
func (h *hardener) addCharge() {
	code := opGlobalGet.append(nil, uint64(h.fuel))
	code = opLocalGet.append(code, 0)
	code = append(code, byte(opI64ExtendI32U))
	code = opI64Const.appendSigned(code, bytesPerUnit)
	code = append(code, byte(opI64ShrU), byte(opI64Sub))
	code = opLocalTee.append(code, 1)
	code = opGlobalSet.append(code, uint64(h.fuel))
	code = opLocalGet.append(code, 1)
	code = ifNegative(code, opCall.append(nil, uint64(h.refill)))
	code = opLocalGet.append(code, 0)
	h.addFunction(FuncType{Params: []ValueType{I32}, Results: []ValueType{I32}}, []byte{1, 1, byte(I64)}, code)
}
