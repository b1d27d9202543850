package wasm_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/plugin/internal/lock"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const root = "../.."

// TestLock finds a module that was not built from the sources as they are. It
// needs no TinyGo.
func TestLock(t *testing.T) {
	l, err := lock.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := lock.Sources(root)
	if err != nil {
		t.Fatal(err)
	}
	if diffs := l.Differences(wasm.Parley, sources); len(diffs) > 0 {
		t.Errorf("%s is stale; run ./build.sh wasm:\n  %s", lock.Module, strings.Join(diffs, "\n  "))
	}
}

// TestPins compares the compiler of the module with the one that is pinned.
func TestPins(t *testing.T) {
	l, err := lock.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	pins, err := os.ReadFile(root + "/plugin/toolchain/tinygo/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`github\.com/tinygo-org/tinygo v` + regexp.QuoteMeta(l.Toolchain.TinyGo) + `( |$)`, `^toolchain go` + regexp.QuoteMeta(l.Toolchain.Go) + `$`} {
		if !regexp.MustCompile("(?m)" + line).Match(pins) {
			t.Errorf("%s was made with %+v, and tinygo/go.mod has no line %s; run ./build.sh wasm", lock.Module, l.Toolchain, line)
		}
	}
}
