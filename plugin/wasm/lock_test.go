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

// TestLock checks that the committed module was built from the current sources. It does
// not need TinyGo.
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

// TestPins checks that the module was built with the pinned compiler.
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
			t.Errorf("%s was built with %+v, but tinygo/go.mod has no line %s; run ./build.sh wasm", lock.Module, l.Toolchain, line)
		}
	}
}
