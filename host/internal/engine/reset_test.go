package engine_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// TestInstanceReset checks that each call finds the memory, its size and the globals in
// their state after the start function, even if an earlier call has changed them.
func TestInstanceReset(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte("secret of a caller "), 100)
	m := wasmtest.Plugin(nil)
	m.Memory, m.Data = []uint32{2}, "data"
	m.Globals = []wasmtest.Global{{Type: wasmedit.I64, Mutable: true}, {Type: wasmedit.I32, Mutable: true}, {Type: wasmedit.V128, Mutable: true}}
	// The start function also changes the state.
	m.Start = wasmtest.OwnFuncs + len(m.Funcs)
	m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: wasmtest.Code(
		wasmtest.I32(100), wasmtest.I64(77), wasmtest.StoreU64, wasmtest.I64(78), wasmtest.SetGlobal(0))})
	for _, c := range []struct {
		name      string
		overwrite []byte
		max       []uint32
		restore   bool
	}{
		{"memory and globals", nil, nil, true},
		{"memory grows", wasmtest.Code(wasmtest.I32(3), wasmtest.GrowMemory, wasmtest.Drop), nil, true},
		{"memory grows to its maximum", wasmtest.Code(wasmtest.I32(3), wasmtest.GrowMemory, wasmtest.Drop), []uint32{2, 5}, false},
		{"memory grows too much", wasmtest.Code(wasmtest.I32(40), wasmtest.GrowMemory, wasmtest.Drop), nil, false},
		{"data is dropped", []byte{0xfc, 0x09, 0}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := *m
			m.Funcs = slices.Clone(m.Funcs)
			if c.max != nil {
				m.Memory = c.max
			}
			// The call reports the state (memory.size, bytes, globals), and then overwrites
			// all of it.
			m.Funcs[1].Body = wasmtest.Code(
				wasmtest.Report([]byte{0x3f, 0, 0xad}, // memory.size, i64.extend_i32_u
					wasmtest.Code(wasmtest.I32(0), wasmtest.LoadU64), wasmtest.Code(wasmtest.I32(100), wasmtest.LoadU64),
					wasmtest.Code(wasmtest.I32(70000), wasmtest.LoadU64), wasmtest.Code(wasmtest.I32(131064), wasmtest.LoadU64),
					wasmtest.GetGlobal(0), wasmtest.Code(wasmtest.GetGlobal(1), []byte{0xad}),
					wasmtest.Code(wasmtest.GetGlobal(2), []byte{0xfd, 0x1d, 1})), // i64x2.extract_lane 1
				wasmtest.I32(0), wasmtest.I32('s'), wasmtest.I32(131072), wasmtest.FillMemory,
				wasmtest.I64(1), wasmtest.SetGlobal(0), wasmtest.I32(1), wasmtest.SetGlobal(1),
				wasmtest.I64(5), []byte{0xfd, 0x12}, wasmtest.SetGlobal(2), // i64x2.splat
				c.overwrite, wasmtest.I32(0))
			p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{IdleInstances: 1, GrowthMiB: 1}}), &m)
			var first []byte
			for n := range 5 {
				out, err := p.Run(t.Context(), abi.ExportCall, secret, nil)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					first = out
				}
				if !bytes.Equal(out, first) {
					t.Fatalf("call %d finds %x, the first found %x", n, out, first)
				}
			}
			want := []uint64{2, binary.LittleEndian.Uint64([]byte("data\x00\x00\x00\x00")), 77, 0, 0, 78, 0, 0}
			for n, w := range want {
				if got := binary.LittleEndian.Uint64(first[8*n:]); got != w {
					t.Errorf("value %d is %d, want %d", n, got, w)
				}
			}
			s := p.Stats()
			if reset := s.Reset == 6; reset != c.restore || s.Failed > 0 || s.Opened+s.Reset-s.Surplus < 6 {
				t.Errorf("stats are %+v", s)
			}
		})
	}
}
