package wasmedit_test

import (
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// coder generates the code of one function. Its methods append code to out; their
// comments describe what that code does.
type coder struct {
	*generator
	number int
	t      wasmedit.FuncType
	locals []wasmedit.ValueType // parameters first
	free   int                  // locals from this index on are loop counters and temporaries
	labels []label              // labels of the enclosing blocks, the function first
	calls  int                  // number of generated calls of functions
	out    []byte
}

// label is a branch target. A branch to it pops values of these types.
type label struct {
	types  []wasmedit.ValueType
	closed bool // the label of a counted loop, to which other branches must not go
}

// maxDepth bounds the nesting of expressions and statements.
const maxDepth = 5

func (g *generator) addFunction(n int) {
	t := g.types[g.funcs[n]]
	c := &coder{generator: g, number: n, t: t, locals: slices.Concat(t.Params, g.someTypes(), list(i32, i64))}
	c.free = len(c.locals)
	c.labels = []label{{types: t.Results}}
	if !g.straight {
		c.takeBudget()
	}
	c.statements(maxDepth)
	c.values(t.Results, maxDepth)
	g.s.Funcs = append(g.s.Funcs, wasmtest.Index(g.funcs[n]))
	g.s.Codes = append(g.s.Codes, wasmtest.CodeEntry(c.locals[len(t.Params):], c.out))
	g.s.Exports = append(g.s.Exports, wasmtest.ExportEntry(fmt.Sprint("f", n), wasmedit.KindFunc, n))
}

func (c *coder) emit(parts ...any) { c.out = append(c.out, bin(parts...)...) }

// use emits an instruction with a local as its operand.
func (c *coder) use(op, local int) { c.emit(op, wasmtest.Index(local)) }

// takeBudget returns from the function if the budget is zero, and else decrements the
// budget.
func (c *coder) takeBudget() {
	c.emit(0x23, budget, 0x45, 0x04, 0x40)
	for _, t := range c.t.Results {
		c.emit(c.constant(t))
	}
	c.emit(0x0f, 0x0b, 0x23, budget, 0x41, 1, 0x6b, 0x24, budget)
}

// constant returns a constant expression.
func (g *generator) constant(t wasmedit.ValueType) []byte {
	switch t {
	case i32:
		return wasmtest.I32(int32(word(g.bytes(g.pick(5)))))
	case i64:
		return wasmtest.I64(int64(word(g.bytes(g.pick(9)))))
	case f32:
		return bin(0x43, g.bytes(4))
	case f64:
		return bin(0x44, g.bytes(8))
	case v128:
		return bin(0xfd, 0x0c, g.bytes(16))
	case funcref:
		if g.one(2) {
			return bin(0xd2, g.pick(len(g.funcs)))
		}
	}
	return bin(0xd0, t)
}

// values pushes values of these types.
func (c *coder) values(types []wasmedit.ValueType, depth int) {
	for _, t := range types {
		c.value(t, depth)
	}
}

// value pushes a value of this type.
func (c *coder) value(t wasmedit.ValueType, depth int) {
	if c.left--; c.left < 0 || depth == 0 {
		c.leaf(t)
		return
	}
	depth--
	switch c.pick(16) {
	case 0, 1, 2:
		c.leaf(t)
	case 3:
		if n, ok := c.local(t); ok {
			c.value(t, depth)
			c.use(0x22, n)
			return
		}
		c.leaf(t)
	case 4:
		c.block(wasmedit.FuncType{Results: list(t)}, bin(t), depth)
	case 5:
		c.conditional(list(t), bin(t), depth)
	case 6:
		c.value(t, depth)
		c.value(t, depth)
		c.value(i32, depth)
		c.emit(0x1c, 1, t)
	case 7:
		c.callFor(t, depth)
	case 8:
		c.table(t, depth)
	case 9:
		if c.straight {
			c.leaf(t)
			return
		}
		c.branch(depth) // code after a branch may have any type
	case 10, 11:
		c.load(t, depth)
	default:
		c.operation(t, depth)
	}
}

func (c *coder) leaf(t wasmedit.ValueType) {
	switch c.pick(3) {
	case 1:
		if n, ok := c.local(t); ok {
			c.use(0x20, n)
			return
		}
	case 2:
		if n, ok := c.global(func(g wasmedit.Global) bool { return g.Type == t }); ok {
			c.emit(0x23, n)
			return
		}
	}
	c.emit(c.constant(t))
}

// local chooses a local of this type that may be modified.
func (c *coder) local(t wasmedit.ValueType) (n int, ok bool) {
	return c.choose(c.free, func(n int) bool { return c.locals[n] == t })
}

// global chooses a global other than the budget.
func (c *coder) global(fits func(wasmedit.Global) bool) (n int, ok bool) {
	return c.choose(len(c.globals), func(n int) bool { return n != budget && fits(c.globals[n]) })
}

// choose chooses one of the numbers below n that fit.
func (c *coder) choose(n int, fits func(int) bool) (chosen int, ok bool) {
	var all []int
	for i := range n {
		if fits(i) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[c.pick(len(all))], true
}

func (c *coder) operation(t wasmedit.ValueType, depth int) {
	all := operations[t]
	if len(all) == 0 {
		c.leaf(t)
		return
	}
	op := all[(c.pick(256)<<8|c.pick(256))%len(all)]
	c.values(op.params, depth)
	c.emit(op.code)
	if op.lanes > 0 {
		c.emit(c.pick(op.lanes))
	}
	c.canonical(t)
}

// canonical replaces any NaN by one NaN. The bits of a NaN can depend on the engine's
// register allocation, which the instrumentation changes.
func (c *coder) canonical(t wasmedit.ValueType) {
	switch t {
	case f32, f64:
		n := c.fresh(t)
		c.use(0x22, n)
		equal := 0x5b
		if t == f32 {
			c.emit(0x43, 0, 0, 0xc0, 0x7f)
		} else {
			c.emit(0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)
			equal = 0x61
		}
		c.use(0x20, n)
		c.use(0x20, n)
		c.emit(equal, 0x1b)
	}
}

// fresh adds a local and returns its index.
func (c *coder) fresh(t wasmedit.ValueType) int {
	c.locals = append(c.locals, t)
	return len(c.locals) - 1
}

// address pushes an address, usually one inside the memory.
func (c *coder) address(depth int) {
	c.value(i32, depth)
	if !c.one(16) {
		c.emit(wasmtest.I32(0x7fff), 0x71)
	}
}

func (c *coder) load(t wasmedit.ValueType, depth int) {
	all := loads[t]
	if len(all) == 0 {
		c.leaf(t)
		return
	}
	a := all[c.pick(len(all))]
	c.address(depth)
	if a.lanes > 0 {
		c.value(v128, depth)
	}
	c.access(a)
}

// access emits a load or store with its operands.
func (c *coder) access(a access) {
	c.emit(a.code, 0, wasmtest.Index(c.pick(256)))
	if a.lanes > 0 {
		c.emit(c.pick(a.lanes))
	}
}

// table pushes an element of a table, or the size of a table or of the memory.
func (c *coder) table(t wasmedit.ValueType, depth int) {
	switch {
	case t == funcref || t == externref:
		number := 0
		if t == externref {
			number = 1
		}
		c.index(nulls, depth)
		c.emit(0x25, number)
	case t == i32 && c.one(4):
		c.value(i32, depth)
		c.emit(0x41, 1, 0x71, 0x40, 0) // memory.grow by one or nothing
	case t == i32 && c.one(2):
		c.value(funcref, depth)
		c.index(8, depth)
		c.emit(0xfc, 0x0f, 0) // table.grow
	case t == i32:
		c.emit(0xfc, 0x10, c.pick(2))
	default:
		c.leaf(t)
	}
}

// index pushes a number, usually one below n, which is a power of two.
func (c *coder) index(n, depth int) {
	c.value(i32, depth)
	if !c.one(16) {
		c.emit(wasmtest.I32(int32(n-1)), 0x71)
	}
}

// callFor calls a function whose first result has this type, and drops the other
// results.
func (c *coder) callFor(t wasmedit.ValueType, depth int) {
	n, ok := c.choose(len(c.funcs), func(n int) bool {
		results := c.types[c.funcs[n]].Results
		return c.callable(n) && len(results) > 0 && results[0] == t
	})
	if !ok {
		c.leaf(t)
		return
	}
	c.call(n, depth)
	for range c.types[c.funcs[n]].Results[1:] {
		c.emit(0x1a)
	}
}

// callable reports whether the code may call a function. The functions of a straight
// module do not decrement the budget, so they may only call preceding functions, and
// only a few times.
func (c *coder) callable(n int) bool {
	return !c.straight || n < hostFuncs || n < c.number && c.calls < 3
}

// call calls a function, directly or through the table, and pushes its results.
func (c *coder) call(n, depth int) {
	c.calls++
	c.values(c.types[c.funcs[n]].Params, depth)
	at, ok := c.choose(elements, func(i int) bool { return c.generator.table[i] == n })
	if !ok || c.straight || !c.one(3) {
		c.emit(0x10, n)
		return
	}
	c.emit(0x41, at, 0x11, c.funcs[n], 0)
}
