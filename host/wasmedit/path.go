package wasmedit

// charge is a subtraction of fuel that is inserted into a function.
type charge struct {
	at    int // the offset at which the charge is inserted
	units int64
	bulk  bool // the size of a bulk operation determines the charge, instead of units

	// Only for the charge of a loop:
	from      int  // offset of the loop instruction
	outer     int  // index of the charge of the enclosing loop, or of the function
	exclusive bool // the loop contains no calls or bulk operations, so the local always holds the current fuel
}

// path computes the units of each charge in a function: the length of the longest path
// from the charge to the next one.
//
// One pass is enough, because a branch can only go forward to the end of an enclosing
// block, or back to the start of an enclosing loop: at each instruction, the length of
// the longest path to it is known. A loop has its own charge, so its body does not add
// to the length of the path around it.
//
// A path to a call or a loop is always charged, even if a trap follows: the call or
// loop may never end, and in a recursion many callers have taken the path. A path from
// the last call or loop to a trap is not charged, because the trap ends the execution:
// the path is taken at most once.
type path struct {
	charges []charge
	frames  []frame // blocks that enclose the instruction, the function first
	loops   []int   // indices of the frames of loops
	length  int64   // length of the longest path from the charge to the current instruction, or unreachable
}

const unreachable = -1

// frame is a block, loop or if, or the function. The function has the opcode opLoop,
// because it is charged at its start like a loop.
type frame struct {
	op     opcode // an if becomes opBlock at its else
	loop   int    // index into path.loops of the innermost loop, which may be the frame itself
	charge int    // for a loop: index of its charge
	before int64  // length of the path to the start of the block
	end    int64  // length of the longest path that branches to its end
}

func newPath(at int) *path {
	return &path{
		charges: []charge{{at: at}},
		frames:  []frame{{op: opLoop, end: unreachable}},
		loops:   []int{0},
	}
}

// bulk adds a charge for the bulk operation at an offset.
func (p *path) bulk(at int) {
	p.markShared()
	p.charges = append(p.charges, charge{at: at, bulk: true})
}

// markShared marks the charges of the enclosing loops as not exclusive. It stops at a
// loop that is already marked, because the loops around that loop are marked too.
func (p *path) markShared() {
	for n := len(p.loops) - 1; n > 0; n-- {
		loop := &p.charges[p.frames[p.loops[n]].charge]
		if !loop.exclusive {
			return
		}
		loop.exclusive = false
	}
}

// step processes the next instruction, which costs units.
func (p *path) step(r *reader, i *instruction, units int64) {
	if p.length != unreachable {
		p.length += units
	}
	top := &p.frames[len(p.frames)-1]
	switch i.op {
	case opBlock, opIf:
		p.push(frame{op: i.op, loop: len(p.loops) - 1})
	case opLoop:
		p.chargeInnermost()
		outer := p.frames[p.loops[len(p.loops)-1]].charge
		p.loops = append(p.loops, len(p.frames))
		p.push(frame{op: opLoop, loop: len(p.loops) - 1, charge: len(p.charges)})
		p.charges = append(p.charges, charge{at: i.to, from: i.from, outer: outer, exclusive: true})
		p.length = min(p.length, 0)
	case opElse:
		if top.op != opIf {
			r.fail(i.from, "else without if")
			return
		}
		top.op, top.end = opBlock, max(top.end, p.length)
		p.length = top.before
	case opEnd:
		p.pop()
	case opBr, opBrIf, opBrTable:
		p.branch(r, i.from, i.index)
		for _, l := range i.labels {
			p.branch(r, i.from, l)
		}
		if i.op != opBrIf {
			p.length = unreachable
		}
	case opReturn:
		p.branch(r, i.from, uint32(len(p.frames)-1))
		p.length = unreachable
	case opCall, opCallIndirect:
		p.markShared()
		p.chargeInnermost()
	case opUnreachable:
		p.length = unreachable
	}
}

func (p *path) push(f frame) {
	f.before, f.end = p.length, unreachable
	p.frames = append(p.frames, f)
}

func (p *path) pop() {
	f := p.frames[len(p.frames)-1]
	switch f.op {
	case opLoop:
		p.length = max(p.length, f.end) // for loops, only the function's frame has an end
		p.chargeInnermost()
		p.loops = p.loops[:len(p.loops)-1]
		if p.length != unreachable {
			p.length = f.before
		}
	case opIf:
		p.length = max(p.length, f.end, f.before)
	default:
		p.length = max(p.length, f.end)
	}
	p.frames = p.frames[:len(p.frames)-1]
}

// branch processes a branch to a label; label 0 is the innermost frame.
func (p *path) branch(r *reader, at int, label uint32) {
	if uint64(label) >= uint64(len(p.frames)) {
		r.fail(at, "label %d, but there are %d blocks", label, len(p.frames))
		return
	}
	to := &p.frames[len(p.frames)-1-int(label)]
	length := p.length
	if left := to.loop + 1; left < len(p.loops) {
		// The branch leaves loops, which have their own charges. The length of the path
		// after the branch is its length at the start of the outermost of these loops.
		p.chargeInnermost()
		if length != unreachable {
			length = p.frames[p.loops[left]].before
		}
	}
	switch {
	case to.op != opLoop || to == &p.frames[0]:
		to.end = max(to.end, length)
	case to.loop == len(p.loops)-1:
		p.chargeInnermost()
	}
}

// chargeInnermost adds the path to the current instruction to the charge of the
// innermost loop, or of the function.
func (p *path) chargeInnermost() {
	to := &p.charges[p.frames[p.loops[len(p.loops)-1]].charge]
	to.units = max(to.units, p.length)
}
