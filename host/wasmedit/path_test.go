package wasmedit_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// decider generates code without loops and traps. Each decision depends on its own bits
// of the function's parameter, so that for each path there is a parameter that selects
// it.
type decider struct {
	choices
	out    []byte
	bits   int // bits of the parameter that decisions use
	labels int // number of enclosing blocks
}

const maxBits = 9

func (d *decider) emit(parts ...any) { d.out = append(d.out, bin(parts...)...) }

// decide emits code that pushes the next bits of the parameter. It emits nothing and
// returns false if too few bits are left.
func (d *decider) decide(bits int) bool {
	if d.bits+bits > maxBits {
		return false
	}
	d.emit(0x20, 0, 0x41, d.bits, 0x76, 0x41, 1<<bits-1, 0x71)
	d.bits += bits
	return true
}

func (d *decider) block(depth int, op byte) {
	d.emit(op, 0x40)
	d.labels++
	d.code(depth)
	if op == 0x04 && d.one(2) {
		d.emit(0x05)
		d.code(depth)
	}
	d.labels--
	d.emit(0x0b)
}

func (d *decider) code(depth int) {
	for range 1 + d.pick(4) {
		d.emit(bytes.Repeat([]byte{0x01}, d.pick(8)))
		if depth == 0 {
			return
		}
		switch d.pick(8) {
		case 0, 1:
			d.block(depth-1, 0x02)
		case 2, 3:
			if d.decide(1) {
				d.block(depth-1, 0x04)
			}
		case 4, 5:
			if d.decide(1) {
				d.emit(0x0d, d.pick(d.labels))
			}
		case 6:
			if d.decide(2) {
				d.emit(0x0e, 3, d.pick(d.labels), d.pick(d.labels), d.pick(d.labels), d.pick(d.labels))
			}
		default:
			switch d.pick(6) {
			case 0:
				d.emit(0x0f)
			case 1:
				d.emit(0x0c, d.pick(d.labels))
			}
		}
	}
}

// TestLongestPath checks that a function's charge is exactly the length of its longest
// path.
func TestLongestPath(t *testing.T) {
	r := newRuntime(t)
	w := &harness{t, r}
	decisions := 0
	for seed := range uint64(80) {
		d := &decider{choices: choices{random(seed, 400)}, labels: 1}
		d.code(4)
		decisions += d.bits
		s := withHost()
		add(s, "f", wasmedit.FuncType{Params: list(i32)}, nil, d.out)

		counting, err := wasmedit.Parse(s.Encode())
		if err != nil {
			t.Fatal(err)
		}
		counting.CountInstructions()
		g, err := instantiate(r, w.compile(fmt.Sprint("seed ", seed), counting.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		longest := int64(0)
		for n := range uint64(1) << d.bits {
			count := g.ExportedGlobal(wasmedit.ExportCount).(api.MutableGlobal)
			count.Set(0)
			if _, err := g.call("f", n); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, int64(count.Get()))
		}
		g.close()

		instrumented, err := instrument(s.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if g, err = instantiate(r, w.compile(fmt.Sprint("seed ", seed, " instrumented"), instrumented)); err != nil {
			t.Fatal(err)
		}
		if used, err := g.callWithFuel(plenty, "f", 0); err != nil || used != longest+chargeUnits {
			t.Errorf("seed %d: used %d, %v; the longest path has %d", seed, used, err, longest)
		}
		g.close()
	}
	if decisions < 300 {
		t.Errorf("only %d decisions in all", decisions)
	}
}

// TestManyLabels instruments a function with a br_table of many labels in many loops,
// and a function with many calls in many loops. Only the innermost loop of the first
// function is charged two instructions and keeps the fuel in the local.
func TestManyLabels(t *testing.T) {
	const many = 900
	s := withHost()
	add(s, "f", wasmtest.Void, nil,
		bytes.Repeat([]byte{0x03, 0x40}, many), 0x41, 0,
		0x0e, wasmtest.Index(40*many), bytes.Repeat(wasmtest.Index(many), 40*many+1),
		bytes.Repeat([]byte{0x0b}, many))
	add(s, "g", wasmtest.Void, nil,
		bytes.Repeat([]byte{0x03, 0x40}, many), bytes.Repeat([]byte{0x10, hostNop}, many), bytes.Repeat([]byte{0x0b}, many))
	instrumented, err := instrument(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	charge := bin(0x20, 0, 0x42, 2+chargeUnits, 0x7d) // of the innermost loop alone
	if n := bytes.Count(instrumented, charge); n != 1 {
		t.Errorf("%d loops are charged two instructions, want 1", n)
	}
}
