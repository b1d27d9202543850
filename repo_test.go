// Package parley holds the tests of the repository as a whole: that its packages
// depend on one another in one direction only.
package parley

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/parley-wasm/parley"

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Standard,Imports,Deps", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		pkgs = append(pkgs, p)
	}
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// layers lists, for a folder, what of this module its packages may import besides
// their own folder: a package, or with /... all below it too. The first folder
// that holds a package decides. The order is the direction: front ends at the top,
// the contract at the bottom.
var layers = []struct {
	folder string
	may    []string
}{
	{"host/cmd", []string{"host", "host/...", "abi/...", "plugin/wasm"}},
	{"host/bench", []string{"host/store/..."}},
	{"host/gateway", []string{"host", "host/config/...", "host/openclaw/...", "host/store", "abi/..."}},
	{"host/openclaw", []string{"host/store/...", "host/config/...", "abi/..."}},
	{"host/config", []string{"abi/..."}},
	{"host/step", []string{"host/engine", "host/store/...", "abi/..."}},
	{"host/engine", []string{"abi/..."}},
	{"host/store", []string{"abi/..."}},
	{"host", []string{"host/config", "host/engine", "host/step", "host/store", "abi/..."}},
	{"plugin/toolchain", []string{"host/engine/wasmedit", "abi/..."}},
	{"plugin/wasm", []string{"plugin/toolchain/lock", "abi/..."}},
	{"plugin", []string{"abi/..."}},
	{"abi", nil},
}

func TestLayers(t *testing.T) {
	for _, p := range list(t) {
		for _, layer := range layers {
			if !within(p.ImportPath, layer.folder) {
				continue
			}
			for _, imp := range p.Imports {
				path, ours := strings.CutPrefix(imp, module+"/")
				if !ours || within(path, layer.folder) {
					continue
				}
				if !allowed(path, layer.may) {
					t.Errorf("%s imports %s; %s may import %v", p.ImportPath, path, layer.folder, layer.may)
				}
			}
			break
		}
	}
}

func allowed(path string, patterns []string) bool {
	for _, p := range patterns {
		if folder, ok := strings.CutSuffix(p, "/..."); ok && within(path, folder) || path == p {
			return true
		}
	}
	return false
}

// TestDependencies holds the few rules about other people's packages.
func TestDependencies(t *testing.T) {
	for _, p := range list(t) {
		for _, imp := range p.Imports {
			dotted := strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
			switch {
			case within(p.ImportPath, "abi") && dotted && !strings.HasPrefix(imp, module+"/abi"):
				t.Errorf("%s imports %s; abi has the standard library alone", p.ImportPath, imp)
			case strings.HasPrefix(imp, "github.com/tetratelabs/wazero") && !within(p.ImportPath, "host/engine"):
				t.Errorf("%s imports %s; only host/engine uses wazero", p.ImportPath, imp)
			case within(p.ImportPath, "plugin") && !within(p.ImportPath, "plugin/wasm") && dotted &&
				!strings.HasPrefix(imp, module+"/") && imp != "github.com/tidwall/gjson" && imp != "github.com/extism/go-pdk":
				t.Errorf("%s imports %s; the guest has gjson and the Extism PDK alone", p.ImportPath, imp)
			case imp == "testing" && !strings.HasSuffix(p.ImportPath, "test"):
				t.Errorf("%s imports testing; only packages named …test may", p.ImportPath)
			}
		}
	}
}
