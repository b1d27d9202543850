package wasmedit

import "fmt"

// most is how many entries a section may have. A few bytes of the module are many in
// a reader, in the compiler and in every instance, and the runtime never forgets a
// function type. The linker of Go makes 100,000 segments of data, and no more.
var maxEntries = map[byte]int{
	idType: 10_000, idImport: 10_000, idFunction: 50_000, idTable: 1000, idMemory: 100, idGlobal: 10_000, idExport: 10_000,
	idElement: 10_000, idCode: 50_000, idData: 100_000,
}

const maxSections = 1000 // custom ones may come again and again

// Bounds of one function. What the engine takes to compile one grows with the square of
// its blocks and branches, and of its loops, and nothing can interrupt it: with as
// many as these it takes two seconds. Compilers of other languages stay far below: of
// 10 MB that Go has made no function has more than 2,200 blocks and branches.
const (
	maxBranches = 10_000 // and blocks
	maxLoops    = 1000
	maxBody     = 512 << 10 // bytes

	labelsPerBranch = 5 // so many labels of a switch count like a branch
)

// maxAllLoops bounds the loops of all functions: each pays with more bytes than it has.
const maxTotalLoops = 100_000

// maxLocals bounds the local variables of a function; engines do so too.
// maxAllLocals bounds those of all functions: the engine makes room for each, and a
// function of a few bytes can announce as many as one may have.
const (
	maxLocals      = 50_000
	maxTotalLocals = 1 << 20
)

// bound fails before anything is read of a section that has too many entries.
func (r *reader) checkEntries(id byte) {
	count := *r
	if n := int(count.u32()); count.err == nil && maxEntries[id] > 0 && n > maxEntries[id] {
		r.exceeds(r.pos, n, "entries in the "+sectionNames[id]+" section", maxEntries[id])
	}
}

// exceeds fails because there are more of something than is read.
func (r *reader) exceeds(at, have int, what string, most int) {
	if r.err == nil {
		r.err = tooMany(r.base+at, have, what, most)
	}
}

func tooMany(at, have int, what string, most int) *Error {
	return &Error{at, fmt.Sprintf("%d %s; at most %d are accepted", have, what, most), true}
}

// count counts what the engine takes its time for.
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
