package wasmedit

// hostCallUnits is the cost of a call of an imported function: entering and leaving the
// host takes about as long as this many instructions.
const hostCallUnits = 64

// chargeUnits is the cost of the instructions that one charge adds. Without it, the
// shortest loops would be too cheap.
const chargeUnits = 9

// emitCharge appends code that subtracts the units of a charge from the fuel, and calls
// refill if the result is negative.
func (ins *instrumenter) emitCharge(out []byte, c *charge, fuelLocal uint64) []byte {
	refill := opCall.append(nil, uint64(ins.refill))
	if c.exclusive {
		refill = ins.loadFuel(refill, fuelLocal)
		out = opLocalGet.append(out, fuelLocal)
	} else {
		out = opGlobalGet.append(out, uint64(ins.fuel))
	}
	out = opI64Const.appendSigned(out, c.units+chargeUnits)
	out = append(out, byte(opI64Sub))
	out = opLocalTee.append(out, fuelLocal)
	out = opGlobalSet.append(out, uint64(ins.fuel))
	out = opLocalGet.append(out, fuelLocal)
	return ifNegative(out, refill)
}

// loadFuel appends code that copies the fuel into the local.
func (ins *instrumenter) loadFuel(out []byte, fuelLocal uint64) []byte {
	return opLocalSet.append(opGlobalGet.append(out, uint64(ins.fuel)), fuelLocal)
}

// ifNegative appends code that pops an i64, and runs then if the number is negative.
func ifNegative(out, then []byte) []byte {
	out = opI64Const.appendSigned(out, 0)
	out = append(out, byte(opI64LtS), byte(opIf), emptyBlockType)
	return append(append(out, then...), byte(opEnd))
}

// emptyBlockType is the type of a block without parameters and results.
const emptyBlockType = 0x40

// addFuel adds the globals of the fuel and of the reserve.
func (ins *instrumenter) addFuel() {
	ins.addGlobal(Global{I64, true}, zeroOf(I64))
	ins.addExport(ExportFuel, KindGlobal, ins.fuel)
	ins.addGlobal(Global{I64, true}, zeroOf(I64))
	ins.addExport(ExportReserve, KindGlobal, ins.fuel+1)
}

// Quantum is the fuel quantum: the number of units that a module can use between two
// entries into the host. Most code uses a quantum in far less than a millisecond, and
// in comparison entering the host takes little time.
const Quantum = 1_000_000

// addRefill adds the function () -> () that refills the fuel to one quantum from the
// reserve, or with the rest of the reserve. The function traps if the fuel stays
// negative.
func (ins *instrumenter) addRefill() {
	fuel, reserve := uint64(ins.fuel), uint64(ins.fuel)+1
	var code []byte
	if len(ins.m.Memories) > 0 {
		code = append(opI32Const.appendSigned(code, 0), byte(opMemoryGrow), 0, byte(opDrop))
	}
	code = opI64Const.appendSigned(code, Quantum) // the amount: a quantum less the fuel, at most the reserve
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

// bulkShift is the binary logarithm of the bytes or elements that a bulk operation
// processes per unit: eight, as many bytes as one store instruction writes.
const bulkShift = 3

// addBulkCharge adds the function (i32) -> (i32) that charges a bulk operation. Its
// parameter and its result are the number of bytes or elements.
func (ins *instrumenter) addBulkCharge() {
	code := opGlobalGet.append(nil, uint64(ins.fuel))
	code = opLocalGet.append(code, 0)
	code = append(code, byte(opI64ExtendI32U))
	code = opI64Const.appendSigned(code, bulkShift)
	code = append(code, byte(opI64ShrU), byte(opI64Sub))
	code = opLocalTee.append(code, 1)
	code = opGlobalSet.append(code, uint64(ins.fuel))
	code = opLocalGet.append(code, 1)
	code = ifNegative(code, opCall.append(nil, uint64(ins.refill)))
	code = opLocalGet.append(code, 0)
	ins.addFunction(FuncType{Params: []ValueType{I32}, Results: []ValueType{I32}}, []byte{1, 1, byte(I64)}, code)
}
