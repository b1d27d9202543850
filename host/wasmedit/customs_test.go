package wasmedit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// TestInstrumentDropsCustoms checks that Instrument drops all custom sections except
// one well-formed name section. The engine trusts the counts in a name section and
// could allocate gigabytes.
func TestInstrumentDropsCustoms(t *testing.T) {
	custom := func(name string, body ...any) []byte { return bin(len(name), name, bin(body...)) }
	names := custom("name", 0, 4, 3, "mod", 1, 6, 1, hostFuncs, 3, "fun", 2, 6, 1, hostFuncs, 1, 0, 1, "l", 9, 1, 0)
	functions := custom("name", 1, 6, 1, hostFuncs, 3, "fun")
	for _, c := range []struct {
		name    string
		customs [][]byte
		left    []string
	}{
		{"names", [][]byte{names}, []string{"name"}},
		{"names of functions", [][]byte{functions}, []string{"name"}},
		{"no names", [][]byte{custom("name")}, []string{"name"}},
		{"twice", [][]byte{functions, names}, []string{"name"}},
		{"other sections", [][]byte{custom(".debug_info", 1, 2, 3), custom("producers"), custom("", 1), names}, []string{"name"}},
		{"a count above the names of functions", [][]byte{custom("name", 1, 6, "\xe9\xe9\xe9\x74", 0, 0)}, nil},
		{"a count of 2^32-1 functions", [][]byte{custom("name", 1, 5, "\xff\xff\xff\xff\x0f")}, nil},
		{"a count above the names of locals", [][]byte{custom("name", 2, 7, 1, 0, "\xff\xff\xff\xff\x0f")}, nil},
		{"a count above the functions with locals", [][]byte{custom("name", 2, 5, "\xff\xff\xff\xff\x0f")}, nil},
		{"a module name beyond its end", [][]byte{custom("name", 0, 5, "\xff\xff\xff\xff\x0f")}, nil},
		{"a function name beyond its end", [][]byte{custom("name", 1, 7, 1, 0, "\xff\xff\xff\xff\x0f")}, nil},
		{"a subsection size too large", [][]byte{custom("name", 1, 9, 1, 0, 3, "fun")}, nil},
		{"a subsection size too small", [][]byte{custom("name", 1, 5, 1, 0, 3, "fun")}, nil},
		{"a trailing byte in a subsection", [][]byte{custom("name", 1, 7, 1, 0, 3, "fun", 0)}, nil},
		{"no size", [][]byte{custom("name", 1)}, nil},
		{"an unknown subsection beyond its end", [][]byte{custom("name", 9, 5)}, nil},
		{"not UTF-8", [][]byte{custom("name", 0, 2, 1, 0xff)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withHost()
			add(s, "f", wasmtest.Void, nil, 0x00)
			s.Custom = c.customs
			m, err := wasmedit.Parse(s.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Customs) != len(c.customs) {
				t.Errorf("the custom sections are %q", m.Customs)
			}
			load(t, s) // the engine accepts it
			if _, err := m.Instrument(); err != nil || !slices.Equal(m.Customs, c.left) {
				t.Errorf("the remaining custom sections are %q, %v; want %q", m.Customs, err, c.left)
			}
			reparsed, err := wasmedit.Parse(m.Encode())
			if err != nil || !slices.Equal(reparsed.Customs, c.left) {
				t.Errorf("the encoded custom sections are %q, %v; want %q", reparsed.Customs, err, c.left)
			}
		})
	}
}

func TestNamesInTraces(t *testing.T) {
	s := withHost()
	add(s, "f", wasmtest.Void, nil, 0x00)
	s.Custom = [][]byte{bin(4, "name", 1, 6, 1, hostFuncs, 3, "fun")}
	g, _ := load(t, s)
	if _, err := g.callWithFuel(plenty, "f"); err == nil || !strings.Contains(err.Error(), "fun()") {
		t.Errorf("trapped with %v", err)
	}
}
