package wasmedit_test

import (
	"slices"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// statements generates up to five statements. A statement is code that does not change
// the stack.
func (c *coder) statements(depth int) {
	for range c.pick(6) {
		c.statement(depth)
	}
}

func (c *coder) statement(depth int) {
	if c.left--; c.left < 0 || depth == 0 {
		c.emit(0x01)
		return
	}
	depth--
	switch c.pick(18) {
	case 0:
		c.emit(0x01)
	case 1, 2:
		n := c.pick(c.free)
		c.value(c.locals[n], depth)
		c.use(0x21, n)
	case 3, 4:
		if n, ok := c.global(func(g wasmedit.Global) bool { return g.Mutable }); ok {
			c.value(c.globals[n].Type, depth)
			c.emit(0x24, n)
		}
	case 5:
		t := c.pick(len(c.types))
		c.values(c.types[t].Params, depth)
		c.block(c.types[t], wasmtest.Index(t), depth)
		c.drop(c.types[t].Results)
	case 6:
		c.conditional(nil, bin(0x40), depth)
	case 7:
		c.loop(depth)
	case 8:
		if !c.straight {
			c.countedLoop(depth)
		}
	case 9:
		n := c.pick(len(c.funcs))
		if c.callable(n) {
			c.call(n, depth)
			c.drop(c.types[c.funcs[n]].Results)
		}
	case 10:
		if !c.straight {
			c.branchIf(depth)
		}
	case 11:
		if !c.straight && c.one(3) {
			c.branch(depth)
		}
	case 12:
		c.bulk(depth)
	case 13:
		c.tableStatement(depth)
	case 14:
		t := valueTypes[c.pick(len(valueTypes))]
		c.value(t, depth)
		c.emit(0x1a)
	case 15:
		if !c.straight && c.one(4) {
			c.emit(0x00)
		}
	default:
		a := stores[c.pick(len(stores))]
		c.address(depth)
		c.value(a.value, depth)
		c.access(a)
	}
}

// drop pops values of these types, partly into locals.
func (c *coder) drop(types []wasmedit.ValueType) {
	for _, t := range slices.Backward(types) {
		if n, ok := c.local(t); ok && c.one(2) {
			c.use(0x21, n)
		} else {
			c.emit(0x1a)
		}
	}
}

// block pops values of the type's parameters and pushes its results.
func (c *coder) block(t wasmedit.FuncType, code []byte, depth int) {
	c.emit(0x02, code)
	c.labels = append(c.labels, label{types: t.Results})
	c.inside(t.Params, t.Results, depth)
}

// inside emits the rest of a block, from its parameters to its end.
func (c *coder) inside(params, results []wasmedit.ValueType, depth int) {
	c.drop(params)
	c.statements(depth)
	c.values(results, depth)
	c.labels = c.labels[:len(c.labels)-1]
	c.emit(0x0b)
}

// conditional emits an if that pushes values of these types; in a straight module, a
// block.
func (c *coder) conditional(types []wasmedit.ValueType, code []byte, depth int) {
	if c.straight {
		c.block(wasmedit.FuncType{Results: types}, code, depth)
		return
	}
	c.value(i32, depth)
	c.emit(0x04, code)
	c.labels = append(c.labels, label{types: types})
	c.statements(depth)
	c.values(types, depth)
	if len(types) > 0 || c.one(2) {
		c.emit(0x05)
		c.statements(depth)
		c.values(types, depth)
	}
	c.labels = c.labels[:len(c.labels)-1]
	c.emit(0x0b)
}

// loop emits a loop. Any branch inside can go to its start, until the budget is used
// up.
func (c *coder) loop(depth int) {
	n := c.pick(len(c.types))
	t := c.types[n]
	c.values(t.Params, depth)
	c.emit(0x03, wasmtest.Index(n))
	c.labels = append(c.labels, label{types: t.Params})
	if !c.straight {
		c.takeBudget()
	}
	c.inside(t.Params, t.Results, depth)
	c.drop(t.Results)
}

// countedLoop emits a loop of one to five iterations. Only the branch at its end goes
// to its start.
func (c *coder) countedLoop(depth int) {
	n := c.fresh(i32)
	c.emit(0x41, 1+c.pick(5))
	c.use(0x21, n)
	c.emit(0x03, 0x40)
	c.labels = append(c.labels, label{closed: true})
	c.statements(depth)
	c.labels = c.labels[:len(c.labels)-1]
	c.use(0x20, n)
	c.emit(0x41, 1, 0x6b)
	c.use(0x22, n)
	c.emit(0x0d, 0, 0x0b)
}

// target chooses a label. It returns the number of the label, 0 for the innermost, and
// the types.
func (c *coder) target(fits func(label) bool) (number int, types []wasmedit.ValueType) {
	at, _ := c.choose(len(c.labels), func(n int) bool { return !c.labels[n].closed && fits(c.labels[n]) })
	return len(c.labels) - 1 - at, c.labels[at].types
}

func anyLabel(label) bool { return true }

// branch emits an unconditional branch.
func (c *coder) branch(depth int) {
	number, types := c.target(anyLabel)
	c.values(types, depth)
	switch c.pick(3) {
	case 0:
		c.emit(0x0c, number)
	case 1:
		c.values(c.t.Results, depth)
		c.emit(0x0f)
	default:
		c.value(i32, depth)
		others := c.pick(5)
		c.emit(0x0e, others)
		for range others {
			other, _ := c.target(func(l label) bool { return slices.Equal(l.types, types) })
			c.emit(other)
		}
		c.emit(number)
	}
}

func (c *coder) branchIf(depth int) {
	number, types := c.target(anyLabel)
	c.values(types, depth)
	c.value(i32, depth)
	c.emit(0x0d, number)
	c.drop(types)
}

// bulk emits a bulk operation on the memory, or data.drop.
func (c *coder) bulk(depth int) {
	switch c.pick(4) {
	case 0:
		c.address(depth)
		c.value(i32, depth)
		c.index(1<<10, depth)
		c.emit(0xfc, 0x0b, 0)
	case 1:
		c.address(depth)
		c.address(depth)
		c.index(1<<10, depth)
		c.emit(0xfc, 0x0a, 0, 0)
	case 2:
		c.address(depth)
		c.index(16, depth)
		c.index(16, depth)
		c.emit(0xfc, 0x08, 1, 0)
	default:
		if c.one(3) {
			c.emit(0xfc, 0x09, c.pick(2))
		}
	}
}

// tableStatement emits code that modifies a table or drops an element segment.
func (c *coder) tableStatement(depth int) {
	number := c.pick(2)
	t := list(funcref, externref)[number]
	c.index(nulls, depth)
	switch c.pick(5) {
	case 0:
		c.value(t, depth)
		c.emit(0x26, number)
	case 1:
		c.value(t, depth)
		c.index(nulls, depth)
		c.emit(0xfc, 0x11, number)
	case 2:
		c.index(2, depth)
		c.index(2, depth)
		c.emit(0xfc, 0x0c, 1+number, number)
	case 3:
		c.index(nulls, depth)
		c.index(nulls, depth)
		c.emit(0xfc, 0x0e, number, number)
	default:
		c.emit(0x1a)
		if c.one(3) {
			c.emit(0xfc, 0x0d, 1+c.pick(2))
		}
	}
}
