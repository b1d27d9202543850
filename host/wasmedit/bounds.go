package wasmedit

import "fmt"

// maxEntries bounds the number of entries of a section. An entry of a few bytes can
// take much more memory in this package, in the compiler and in every instance, and the
// runtime never frees a function type. Go's linker creates up to 100,000 data segments.
var maxEntries = map[byte]int{
	idType: 10_000, idImport: 10_000, idFunction: 50_000, idTable: 1000, idMemory: 100, idGlobal: 10_000, idExport: 10_000,
	idElement: 10_000, idCode: 50_000, idData: 100_000,
}

const maxSections = 1000 // custom sections can be repeated

// Bounds of one function. The time to compile a function grows with the square of the
// number of its blocks and branches, and of its loops, and the compilation cannot be
// interrupted. A function at these bounds takes two seconds. Compilers generate far
// smaller functions: in 10 MB of output of Go's compiler, no function has more than
// 2,200 blocks and branches.
const (
	maxBranches = 10_000 // blocks and branches
	maxLoops    = 1000
	maxBody     = 512 << 10 // bytes

	labelsPerBranch = 5 // this many labels of a br_table count as one branch
)

// maxTotalLoops bounds the number of loops in all functions, because the code that
// charges a loop is much larger than the loop instruction.
const maxTotalLoops = 100_000

// maxLocals bounds the local variables of a function, including the one that Instrument
// adds, as engines do. maxTotalLocals bounds the locals of all functions together: the
// engine allocates memory for each local, and a function of a few bytes can declare
// thousands.
const (
	maxLocals      = 50_000
	maxTotalLocals = 1 << 20
)

// checkEntries fails if the section at the current position has too many entries. It
// does not advance the reader.
func (r *reader) checkEntries(id byte) {
	count := *r
	if n := int(count.u32()); count.err == nil && maxEntries[id] > 0 && n > maxEntries[id] {
		r.exceeds(r.pos, n, "entries in the "+sectionNames[id]+" section", maxEntries[id])
	}
}

// exceeds fails with the error that a bound is exceeded.
func (r *reader) exceeds(at, have int, what string, most int) {
	if r.err == nil {
		r.err = tooMany(r.base+at, have, what, most)
	}
}

// tooMany returns the error for a number (have) that exceeds its bound (most).
func tooMany(at, have int, what string, most int) *Error {
	return &Error{at, fmt.Sprintf("%d %s; at most %d are accepted", have, what, most), true}
}

// count counts the instructions that are expensive to compile, and checks their bounds.
func (ins *instrumenter) count(r *reader, i *instruction, branches, loops *int) {
	switch i.op {
	case opLoop:
		*loops++
		ins.totalLoops++
	case opBlock, opIf, opElse, opBr, opBrIf, opBrTable:
		*branches += 1 + len(i.labels)/labelsPerBranch
	default:
		return
	}
	switch {
	case *branches > maxBranches:
		r.exceeds(i.from, *branches, "blocks and branches in a function", maxBranches)
	case *loops > maxLoops:
		r.exceeds(i.from, *loops, "loops in a function", maxLoops)
	case ins.totalLoops > maxTotalLoops:
		r.exceeds(i.from, ins.totalLoops, "loops", maxTotalLoops)
	}
}
