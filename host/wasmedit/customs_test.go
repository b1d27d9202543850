package wasmedit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// The engine believes the numbers in names: what lies there would take gigabytes
// and is dropped, and so is what describes the code as it was.
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
		{"others", [][]byte{custom(".debug_info", 1, 2, 3), custom("producers"), custom("", 1), names}, []string{"name"}},
		{"more functions than there are names", [][]byte{custom("name", 1, 6, "\xe9\xe9\xe9\x74", 0, 0)}, nil},
		{"all functions there can be", [][]byte{custom("name", 1, 5, "\xff\xff\xff\xff\x0f")}, nil},
		{"more locals", [][]byte{custom("name", 2, 7, 1, 0, "\xff\xff\xff\xff\x0f")}, nil},
		{"more functions with locals", [][]byte{custom("name", 2, 5, "\xff\xff\xff\xff\x0f")}, nil},
		{"a longer name of the module", [][]byte{custom("name", 0, 5, "\xff\xff\xff\xff\x0f")}, nil},
		{"a longer name of a function", [][]byte{custom("name", 1, 7, 1, 0, "\xff\xff\xff\xff\x0f")}, nil},
		{"a longer subsection", [][]byte{custom("name", 1, 9, 1, 0, 3, "fun")}, nil},
		{"a shorter subsection", [][]byte{custom("name", 1, 5, 1, 0, 3, "fun")}, nil},
		{"more in a subsection", [][]byte{custom("name", 1, 7, 1, 0, 3, "fun", 0)}, nil},
		{"no size", [][]byte{custom("name", 1)}, nil},
		{"a longer unknown subsection", [][]byte{custom("name", 9, 5)}, nil},
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
				t.Errorf("there are %q", m.Customs)
			}
			load(t, s) // the engine takes it
			if _, err := m.Harden(); err != nil || !slices.Equal(m.Customs, c.left) {
				t.Errorf("left are %q, %v; want %q", m.Customs, err, c.left)
			}
			replay, err := wasmedit.Parse(m.Encode())
			if err != nil || !slices.Equal(replay.Customs, c.left) {
				t.Errorf("encoded are %q, %v; want %q", replay.Customs, err, c.left)
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
