package wasmedit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/wasmedit"
)

// plenty is more fuel than any of these modules uses.
const plenty = 1 << 40

func instrument(wasm []byte) ([]byte, error) {
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		return nil, err
	}
	if _, err := m.Instrument(); err != nil {
		return nil, err
	}
	return m.Encode(), nil
}

// script is a file of the official WebAssembly test suite, in the JSON format in which
// wazero includes it.
type script struct {
	Commands []command `json:"commands"`
}

type command struct {
	Type       string `json:"type"`
	Line       int    `json:"line"`
	Name       string `json:"name"`
	Filename   string `json:"filename"`
	As         string `json:"as"`
	ModuleType string `json:"module_type"`
	Action     struct {
		Type   string  `json:"type"`
		Field  string  `json:"field"`
		Module string  `json:"module"`
		Args   []value `json:"args"`
	} `json:"action"`
}

type value struct {
	Type  string          `json:"type"`
	Lane  string          `json:"lane_type"`
	Value json.RawMessage `json:"value"`
}

// TestInstrumentOfficialSuite runs the official suite with original and instrumented
// modules. It checks that the engine accepts the same modules, and that calls have the
// same results.
func TestInstrumentOfficialSuite(t *testing.T) {
	root := suite(t)
	for _, version := range []string{"v1", "v2"} {
		dir := filepath.Join(root, version, "testdata")
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) < 70 {
			t.Fatalf("%d scripts in %s, %v", len(files), dir, err)
		}
		for _, file := range files {
			t.Run(version+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				t.Parallel()
				runScript(t, root, file)
			})
		}
	}
}

// suite returns the folder of the official suite in the source of wazero.
func suite(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// testRuntime runs the modules of a script, either the original or the instrumented
// ones.
type testRuntime struct {
	runtime wazero.Runtime
	named   map[string]api.Module
	last    api.Module
}

func runScript(t *testing.T, root, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	plain, instrumented := newTestRuntime(t, root), newTestRuntime(t, root)
	for i, c := range s.Commands {
		where := fmt.Sprintf("%s:%d %s", filepath.Base(file), c.Line, c.Type)
		switch c.Type {
		case "module":
			wasm := read(t, file, c.Filename)
			as := ""
			if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
				as = s.Commands[i+1].As
			}
			if err := plain.instantiate(wasm, c.Name, as); err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			edited, err := instrument(wasm)
			if err != nil {
				t.Fatalf("%s: instrument: %v", where, err)
			}
			if err := instrumented.instantiate(edited, c.Name, as); err != nil {
				t.Fatalf("%s: instrumented: %v", where, err)
			}
		case "assert_return", "action", "assert_trap", "assert_exhaustion":
			want, got := plain.act(&c), instrumented.act(&c)
			if want != got {
				t.Errorf("%s %s: %s, instrumented %s", where, c.Action.Field, want, got)
			}
		case "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
			if c.ModuleType == "text" {
				continue
			}
			wasm := read(t, file, c.Filename)
			want := plain.instantiate(wasm, "", "")
			edited, err := instrument(wasm)
			if err == nil {
				err = instrumented.instantiate(edited, "", "")
			}
			if (want == nil) != (err == nil) {
				t.Errorf("%s %s: %v, instrumented %v", where, c.Filename, want, err)
			}
		case "register":
		default:
			t.Errorf("%s: unknown command", where)
		}
	}
}

func read(t *testing.T, file, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func newTestRuntime(t *testing.T, root string) *testRuntime {
	t.Helper()
	s := &testRuntime{runtime: wazero.NewRuntime(t.Context()), named: map[string]api.Module{}}
	t.Cleanup(func() { _ = s.runtime.Close(context.Background()) })
	wasm, err := os.ReadFile(filepath.Join(root, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.runtime.Instantiate(t.Context(), wasm); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *testRuntime) instantiate(wasm []byte, name, as string) error {
	m, err := s.runtime.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName(as))
	if err != nil {
		return err
	}
	if fuel, ok := m.ExportedGlobal(wasmedit.ExportFuel).(api.MutableGlobal); ok {
		fuel.Set(plenty)
		if start := m.ExportedFunction(wasmedit.ExportStart); start != nil {
			if _, err := start.Call(context.Background()); err != nil {
				return err
			}
		}
	}
	s.last = m
	if name != "" {
		s.named[name] = m
	}
	return nil
}

// act performs an action and returns its result as text.
func (s *testRuntime) act(c *command) string {
	m := s.last
	if c.Action.Module != "" {
		m = s.named[c.Action.Module]
	}
	if c.Action.Type == "get" {
		return fmt.Sprint(m.ExportedGlobal(c.Action.Field).Get())
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.words()...)
	}
	f := m.ExportedFunction(c.Action.Field)
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return text
	}
	return fmt.Sprintf("%x", comparable(f.Definition().ResultTypes(), results))
}

// comparable clears the bits that the specification leaves open: the upper half of
// 32-bit values, and the addresses of references.
func comparable(types []api.ValueType, words []uint64) []uint64 {
	at := 0
	for _, t := range types {
		switch t {
		case api.ValueTypeI32, api.ValueTypeF32:
			words[at] &= 1<<32 - 1
		case api.ValueType(wasmedit.FuncRef), api.ValueTypeExternref:
			words[at] = min(words[at], 1)
		case api.ValueType(wasmedit.V128):
			at++
		}
		at++
	}
	return words
}

// words returns the value in the engine's representation.
func (v *value) words() []uint64 {
	if v.Type == "v128" {
		var lanes []string
		if err := json.Unmarshal(v.Value, &lanes); err != nil {
			panic(err)
		}
		bits := 128 / len(lanes)
		out := make([]uint64, 2)
		for i, l := range lanes {
			out[i*bits/64] |= number(l, v.Lane, bits) << (i * bits % 64)
		}
		return out
	}
	var text string
	if err := json.Unmarshal(v.Value, &text); err != nil {
		panic(err)
	}
	if text == "null" {
		return []uint64{0}
	}
	bits := 64
	if strings.HasSuffix(v.Type, "32") {
		bits = 32
	}
	return []uint64{number(text, v.Type, bits)}
}

// number parses a number that is written as its bits, signed or unsigned, or as the
// name of a NaN.
func number(text, kind string, bits int) uint64 {
	if strings.HasPrefix(text, "nan") {
		if kind == "f32" {
			return 0x7fc00000
		}
		return 0x7ff8000000000000
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		signed, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err)
		}
		n = uint64(signed)
	}
	return n & (1<<bits - 1)
}
