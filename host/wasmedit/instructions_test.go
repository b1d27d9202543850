package wasmedit_test

import "github.com/parley-wasm/parley/host/wasmedit"

// operation is an instruction that pops values and pushes one. It has no immediate
// operand, or a lane.
type operation struct {
	code   []byte
	params []wasmedit.ValueType
	result wasmedit.ValueType
	lanes  int // number of lanes to choose from; 0: no lane operand
}

// operations are all such instructions of WebAssembly 2.0, by the type of the result.
var operations = func() map[wasmedit.ValueType][]operation {
	all := map[wasmedit.ValueType][]operation{}
	put := func(prefix []byte, from, to int, result wasmedit.ValueType, lanes int, params ...wasmedit.ValueType) {
		for op := from; op <= to; op++ {
			code := bin(prefix, op)
			if len(prefix) > 0 && op >= 0x80 {
				code = append(code, 1)
			}
			all[result] = append(all[result], operation{code, params, result, lanes})
		}
	}
	number := func(from, to int, result wasmedit.ValueType, params ...wasmedit.ValueType) {
		put(nil, from, to, result, 0, params...)
	}
	number(0x45, 0x45, i32, i32)
	number(0x46, 0x4f, i32, i32, i32)
	number(0x50, 0x50, i32, i64)
	number(0x51, 0x5a, i32, i64, i64)
	number(0x5b, 0x60, i32, f32, f32)
	number(0x61, 0x66, i32, f64, f64)
	number(0x67, 0x69, i32, i32)
	number(0x6a, 0x78, i32, i32, i32)
	number(0x79, 0x7b, i64, i64)
	number(0x7c, 0x8a, i64, i64, i64)
	number(0x8b, 0x91, f32, f32)
	number(0x92, 0x98, f32, f32, f32)
	number(0x99, 0x9f, f64, f64)
	number(0xa0, 0xa6, f64, f64, f64)
	number(0xa7, 0xa7, i32, i64)
	number(0xa8, 0xa9, i32, f32)
	number(0xaa, 0xab, i32, f64)
	number(0xac, 0xad, i64, i32)
	number(0xae, 0xaf, i64, f32)
	number(0xb0, 0xb1, i64, f64)
	number(0xb2, 0xb3, f32, i32)
	number(0xb4, 0xb5, f32, i64)
	number(0xb6, 0xb6, f32, f64)
	number(0xb7, 0xb8, f64, i32)
	number(0xb9, 0xba, f64, i64)
	number(0xbb, 0xbb, f64, f32)
	number(0xbc, 0xbc, i32, f32)
	number(0xbd, 0xbd, i64, f64)
	number(0xbe, 0xbe, f32, i32)
	number(0xbf, 0xbf, f64, i64)
	number(0xc0, 0xc1, i32, i32)
	number(0xc2, 0xc4, i64, i64)
	number(0xd1, 0xd1, i32, funcref) // ref.is_null
	number(0xd1, 0xd1, i32, externref)

	saturating := func(from, to int, result, param wasmedit.ValueType) { put([]byte{0xfc}, from, to, result, 0, param) }
	saturating(0, 1, i32, f32)
	saturating(2, 3, i32, f64)
	saturating(4, 5, i64, f32)
	saturating(6, 7, i64, f64)

	vector := func(result wasmedit.ValueType, params []wasmedit.ValueType, ranges ...int) {
		for n := 0; n < len(ranges); n += 2 {
			put([]byte{0xfd}, ranges[n], ranges[n+1], result, 0, params...)
		}
	}
	lane := func(op int, result wasmedit.ValueType, lanes int, params ...wasmedit.ValueType) {
		put([]byte{0xfd}, op, op, result, lanes, params...)
	}
	for n, t := range list(i32, i32, i32, i64, f32, f64) {
		vector(v128, list(t), 0x0f+n, 0x0f+n) // splat
	}
	lane(0x15, i32, 16, v128)
	lane(0x16, i32, 16, v128)
	lane(0x17, v128, 16, v128, i32)
	lane(0x18, i32, 8, v128)
	lane(0x19, i32, 8, v128)
	lane(0x1a, v128, 8, v128, i32)
	lane(0x1b, i32, 4, v128)
	lane(0x1c, v128, 4, v128, i32)
	lane(0x1d, i64, 2, v128)
	lane(0x1e, v128, 2, v128, i64)
	lane(0x1f, f32, 4, v128)
	lane(0x20, v128, 4, v128, f32)
	lane(0x21, f64, 2, v128)
	lane(0x22, v128, 2, v128, f64)
	vector(i32, list(v128), 0x53, 0x53, 0x63, 0x64, 0x83, 0x84, 0xa3, 0xa4, 0xc3, 0xc4)
	vector(v128, list(v128, i32), 0x6b, 0x6d, 0x8b, 0x8d, 0xab, 0xad, 0xcb, 0xcd) // shifts
	vector(v128, list(v128, v128, v128), 0x52, 0x52)
	vector(v128, list(v128), 0x4d, 0x4d, 0x5e, 0x5f, 0x60, 0x62, 0x67, 0x6a, 0x74, 0x75, 0x7a, 0x7a, 0x7c, 0x7f, 0x80, 0x81,
		0x87, 0x8a, 0x94, 0x94, 0xa0, 0xa1, 0xa7, 0xaa, 0xc0, 0xc1, 0xc7, 0xca, 0xe0, 0xe1, 0xe3, 0xe3, 0xec, 0xed, 0xef, 0xef, 0xf8, 0xff)
	vector(v128, list(v128, v128), 0x0e, 0x0e, 0x23, 0x4c, 0x4e, 0x51, 0x65, 0x66, 0x6e, 0x73, 0x76, 0x79, 0x7b, 0x7b, 0x82, 0x82,
		0x85, 0x86, 0x8e, 0x93, 0x95, 0x99, 0x9b, 0x9f, 0xae, 0xae, 0xb1, 0xb1, 0xb5, 0xb9, 0xba, 0xba, 0xbc, 0xbf, 0xce, 0xce, 0xd1, 0xd1,
		0xd5, 0xdf, 0xe4, 0xeb, 0xf0, 0xf7)
	return all
}()

// access is an instruction that pops an address, and a value if it stores or sets a
// lane.
type access struct {
	code  []byte
	value wasmedit.ValueType // type of the loaded or stored value
	lanes int                // number of lanes of the lane operand; 0: none
}

var loads, stores = func() (loads map[wasmedit.ValueType][]access, stores []access) {
	loads = map[wasmedit.ValueType][]access{}
	put := func(t wasmedit.ValueType, ops ...int) {
		for _, op := range ops {
			loads[t] = append(loads[t], access{bin(op), t, 0})
		}
	}
	put(i32, 0x28, 0x2c, 0x2d, 0x2e, 0x2f)
	put(i64, 0x29, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35)
	put(f32, 0x2a)
	put(f64, 0x2b)
	for op := range 11 {
		loads[v128] = append(loads[v128], access{bin(0xfd, op), v128, 0})
	}
	loads[v128] = append(loads[v128], access{bin(0xfd, 0x5c), v128, 0}, access{bin(0xfd, 0x5d), v128, 0})
	for n, t := range list(i32, i64, f32, f64, i32, i32, i64, i64, i64) {
		stores = append(stores, access{bin(0x36 + n), t, 0})
	}
	stores = append(stores, access{bin(0xfd, 0x0b), v128, 0})
	for n := range 4 {
		loads[v128] = append(loads[v128], access{bin(0xfd, 0x54+n), v128, 16 >> n})
		stores = append(stores, access{bin(0xfd, 0x58+n), v128, 16 >> n})
	}
	return loads, stores
}()
