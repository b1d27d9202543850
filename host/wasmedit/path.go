package wasmedit

// payment is a place in a function where it pays for what follows.
type charge struct {
	at    int // before the byte
	units int64
	bulk  bool // for a bulk operation instead, by its size

	// Of a loop:
	from      int  // where it begins, before at
	outer     int  // index of the payment of the loop around it, or of the function
	exclusive bool // nothing in it pays elsewhere: it has no calls and bulk operations
}

// path finds the longest ways through a function, from each payment to the next.
//
// The code of a function is structured: branches go to the end of a block around
// them, or to the beginning of a loop around them. So one pass does: at each
// instruction it knows the length of the longest way there. A loop is paid for by
// itself, so that in the way around it, it has no length.
//
// What leads to a call or a loop is always paid for, because that may never come
// back: of a function that calls itself, each of many callers would have gone so
// far. From there on, a way that ends in a trap does not count: it is taken once.
type path struct {
	charges []charge
	frames  []frame // of the blocks around the instruction; the function itself first
	loops   []int   // indices of the frames of loops
	length  int64   // of the longest way here from the payment for here; unreachable: none leads here
}

const unreachable = -1

// frame is a block. The function is one too, and is paid for at its beginning like
// an iteration of a loop.
type frame struct {
	op     opcode // opIf turns into opBlock when its else comes
	loop   int    // number of the loop that it is in, or is: an index of path.loops
	charge int    // of a loop: index of its payment
	before int64  // length of the way to its beginning, around it
	end    int64  // length of the longest way that branches to its end
}

func newPath(at int) *path {
	return &path{
		charges: []charge{{at: at}},
		frames:  []frame{{op: opLoop, end: unreachable}},
		loops:   []int{0},
	}
}

// bulk adds a payment for a bulk operation before the byte.
func (p *path) bulk(at int) {
	p.markShared()
	p.charges = append(p.charges, charge{at: at, bulk: true})
}

// accompany says of the loops around an instruction that others pay in them too. Where
// one of them knows, so do those around it.
func (p *path) markShared() {
	for n := len(p.loops) - 1; n > 0; n-- {
		loop := &p.charges[p.frames[p.loops[n]].charge]
		if !loop.exclusive {
			return
		}
		loop.exclusive = false
	}
}

// step takes the next instruction, which costs units, into account.
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
		p.length = max(p.length, f.end) // only the function has branches to its end
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

// branch goes to the block that has this number, counted from the innermost.
func (p *path) branch(r *reader, at int, label uint32) {
	if uint64(label) >= uint64(len(p.frames)) {
		r.fail(at, "label %d, but there are %d blocks", label, len(p.frames))
		return
	}
	to := &p.frames[len(p.frames)-1-int(label)]
	length := p.length
	if left := to.loop + 1; left < len(p.loops) {
		// The loops between have paid at the beginning of the one inside them.
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

// settle makes the innermost loop pay for the way here.
func (p *path) chargeInnermost() {
	to := &p.charges[p.frames[p.loops[len(p.loops)-1]].charge]
	to.units = max(to.units, p.length)
}
