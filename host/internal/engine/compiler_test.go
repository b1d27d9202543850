package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// TestOtherCompiler compiles the plugin's sources with Go's own compiler and replays
// the recordings. It checks that the recordings do not depend on TinyGo.
func TestOtherCompiler(t *testing.T) {
	t.Parallel()
	module := compileWithGo(t)
	for name, options := range map[string]engine.Options{"direct memory": {}, "kernel calls": {KernelCallsOnly: true}} {
		t.Run(name, func(t *testing.T) {
			options.Logger = slog.New(slog.DiscardHandler)
			if _, err := loadIn(t, &options, module); !errors.Is(err, engine.BadImport) {
				t.Fatalf("without WASI: %v", err)
			}
			p, err := loadIn(t, options.WithWASI(), module)
			if err != nil {
				t.Fatal(err)
			}
			recordingtest.ReplayAll(t, "../../../testdata/recordings", func(x *recordingtest.Exchange, r *recordingtest.Replay) ([]byte, error) {
				return p.Run(t.Context(), x.Export, x.Input, recorded{r})
			})
		})
	}
}

type recorded struct{ *recordingtest.Replay }

func (r recorded) Call(_ context.Context, namespace string, request []byte) ([]byte, error) {
	return r.Replay.Call(namespace, request), nil
}

// loadIn loads a module in a new engine.
func loadIn(t *testing.T, o *engine.Options, module []byte) (*engine.Plugin, error) {
	t.Helper()
	ctx := context.Background()
	e, err := engine.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e.Load(ctx, module)
}

// compileWithGo compiles the plugin like ./build.sh wasm, but with Go's own compiler.
func compileWithGo(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", path, "../../../plugin")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmedit.Parse(withTableMaximum(t, wasm))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.StartFromExport("_initialize"); err != nil {
		t.Fatal(err)
	}
	return m.Encode()
}

// withTableMaximum sets the table's maximum to its initial size. Go's linker sets no
// maximum, and the engine rejects tables that can grow without bound.
func withTableMaximum(t *testing.T, wasm []byte) []byte {
	t.Helper()
	const header, idTable = 8, 4
	for at := header; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		body := wasm[at+1+n:][:size]
		end := at + 1 + n + int(size)
		if wasm[at] != idTable {
			at = end
			continue
		}
		if !bytes.HasPrefix(body, []byte{1, 0x70, 0}) { // one funcref table without a maximum
			t.Fatalf("the table section is %x", body)
		}
		minimum := body[3:]
		limited := slices.Concat([]byte{1, 0x70, 1}, minimum, minimum)
		return slices.Concat(wasm[:at], []byte{idTable}, binary.AppendUvarint(nil, uint64(len(limited))), limited, wasm[end:])
	}
	t.Fatal("the module has no table")
	return nil
}
