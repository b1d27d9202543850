// Package parley holds the tests of the repository as a whole: packages depend on one
// another in one direction only, and other modules can import the listed ones.
package parley

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/parley-wasm/parley"

// pkg is the output of `go list -json` for a package.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "./...")
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

// public lists the packages that other modules may import, to embed the host or to write
// plugins. Every other package is internal, a program, or an example.
var public = []string{
	"abi", "abi/jsonappend", "abi/jsonobject", "abi/jsonstrict", "abi/policy", "abi/schema", "abi/sessionkey",
	"abi/conformance/recordingtest", "abi/conformance/refhost", "abi/conformance/vector",
	"host", "host/config", "host/runner", "host/runner/runnertest", "host/sink", "host/sink/sinktest",
	"host/store", "host/store/sqlite", "host/store/storetest", "host/wasmedit",
	"host/gateway", "host/gateway/httpapi", "host/gateway/local", "host/gateway/mcp",
	"plugin/guest", "plugin/guest/guesttest", "plugin/tool", "plugin/wasm",
	"plugin/rules/derive", "plugin/rules/reference", "plugin/rules/settings", "plugin/rules/visibility",
}

// TestPublic checks that public lists exactly the packages that other modules can
// import.
func TestPublic(t *testing.T) {
	var found []string
	for _, p := range listPackages(t) {
		inside := slices.ContainsFunc(strings.Split(p.ImportPath, "/"), func(dir string) bool { return dir == "internal" || dir == "testdata" })
		if p.Name != "main" && !inside && p.ImportPath != "" && !within(p.ImportPath, "examples") {
			found = append(found, p.ImportPath)
		}
	}
	want := slices.Sorted(slices.Values(public))
	for _, p := range found {
		if !slices.Contains(want, p) {
			t.Errorf("%s can be imported by every module: make it internal, or add it to public", p)
		}
	}
	for _, p := range want {
		if !slices.Contains(found, p) {
			t.Errorf("public lists %s, which cannot be imported", p)
		}
	}
}

// layer is a folder and the packages that the packages in it may import.
type layer struct {
	folder string
	may    []string
}

// layers lists the packages of this module that the packages of a layer may import, in
// addition to packages of their own layer. /... means a package and all packages below it.
// A package belongs to the first layer whose folder contains it. The order is the
// direction of dependencies: programs and front ends at the top, the contract at the
// bottom.
var layers = []layer{
	{"examples", []string{"host/...", "abi/...", "plugin/wasm"}},
	{"host/cmd", []string{"host/...", "abi/...", "plugin/wasm"}},
	{"host/internal/e2e", []string{"host/...", "abi/...", "plugin/wasm"}},
	{"host/internal/bench", []string{"host/...", "abi/...", "plugin/wasm"}},
	{"host/gateway/httpapi", []string{"host/gateway", "host/gateway/local", "host/gateway/mcp", "host", "host/store", "host/internal/invoke", "abi/..."}},
	{"host/gateway/mcp", []string{"host/gateway", "host", "abi/..."}},
	{"host/gateway/local", []string{"host", "host/store", "host/internal/importer", "abi/..."}},
	{"host/gateway", []string{"host/gateway/local", "host", "host/config", "host/store", "host/internal/engine", "host/internal/importer", "host/internal/module", "abi/..."}},
	{"host/internal/terminal", nil},
	{"host/internal/invoke", []string{"abi/..."}},
	{"host/internal/module", []string{"host/internal/engine", "host/internal/flow", "host/internal/step", "host/store", "testdata/vectors", "abi/..."}},
	{"host/internal/importer", []string{"host/internal/message", "host/store/...", "host/config", "abi/..."}},
	{"host/internal/flow", []string{"host/internal/step", "host/internal/work", "host/store", "abi/..."}},
	{"host/internal/chat", []string{"host/internal/work", "host/store", "host/config", "abi/..."}},
	{"host/internal/run", []string{"host/internal/work", "host/internal/message", "host/runner", "host/store", "host/config", "abi/..."}},
	{"host/internal/delivery", []string{"host/internal/work", "host/sink", "host/store", "host/config", "abi/..."}},
	{"host/internal/step", []string{"host/internal/engine", "host/internal/work", "host/internal/message", "host/store", "abi/..."}},
	{"host/internal/work", []string{"host/store", "abi/..."}},
	{"host/internal/engine", []string{"host/wasmedit", "abi/..."}},
	{"host/internal/message", []string{"abi/..."}},
	{"host/internal/storegen", []string{"host/store", "abi/..."}},
	{"host/runner", []string{"abi/..."}},
	{"host/sink", []string{"abi/..."}},
	{"host/config", []string{"abi/..."}},
	{"host/store/storetest", []string{"host/store", "host/internal/message", "abi/..."}},
	{"host/store/sqlite", []string{"host/store", "host/store/internal/...", "abi/..."}},
	{"host/store/internal/relational", []string{"host/store", "host/internal/message", "abi/..."}},
	{"host/store/internal/notify", []string{"host/store"}},
	{"host/store", []string{"abi/..."}},
	{"host/wasmedit", nil},
	{"host", []string{"host/config", "host/runner", "host/sink", "host/store", "host/internal/...", "abi/..."}},
	{"plugin/toolchain", []string{"plugin/internal/lock", "host/wasmedit", "abi/..."}},
	{"plugin/internal/lock", []string{"host/wasmedit", "abi/..."}},
	{"plugin", []string{"abi/..."}},
	{"abi", nil},
}

func TestLayers(t *testing.T) {
	for _, p := range listPackages(t) {
		from := layerOf(p.ImportPath)
		if from < 0 {
			continue
		}
		for _, imp := range p.Imports {
			path, ours := strings.CutPrefix(imp, module+"/")
			if ours && layerOf(path) != from && !allowed(path, layers[from].may) {
				t.Errorf("%s imports %s; %s may import %v", p.ImportPath, path, layers[from].folder, layers[from].may)
			}
		}
	}
}

// layerOf returns the index of a package's layer, or -1.
func layerOf(path string) int {
	return slices.IndexFunc(layers, func(l layer) bool { return within(path, l.folder) })
}

func allowed(path string, patterns []string) bool {
	for _, p := range patterns {
		if folder, ok := strings.CutSuffix(p, "/..."); ok && within(path, folder) || path == p {
			return true
		}
	}
	return false
}

// TestDependencies checks which packages import other modules, and which import testing.
func TestDependencies(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, imp := range p.Imports {
			dotted := strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
			switch {
			case within(p.ImportPath, "abi") && dotted && !strings.HasPrefix(imp, module+"/abi") && imp != "github.com/tidwall/gjson":
				t.Errorf("%s imports %s; abi may import only the standard library and gjson", p.ImportPath, imp)
			case strings.HasPrefix(imp, "github.com/tetratelabs/wazero") && !within(p.ImportPath, "host/internal/engine"):
				t.Errorf("%s imports %s; only host/internal/engine uses wazero", p.ImportPath, imp)
			case within(p.ImportPath, "plugin") && !within(p.ImportPath, "plugin/wasm") && dotted && !strings.HasSuffix(p.ImportPath, "test") &&
				!strings.HasPrefix(imp, module+"/") && imp != "github.com/tidwall/gjson" && imp != "github.com/extism/go-pdk":
				t.Errorf("%s imports %s; the guest may import only gjson and the Extism PDK", p.ImportPath, imp)
			case within(p.ImportPath, "host/store/internal") && (imp == "database/sql" || dotted && !strings.HasPrefix(imp, module+"/") && imp != "github.com/tidwall/gjson"):
				t.Errorf("%s imports %s; packages shared by stores must not depend on a driver", p.ImportPath, imp)
			case imp == "testing" && !strings.HasSuffix(p.ImportPath, "test"):
				t.Errorf("%s imports testing; only packages named …test may", p.ImportPath)
			}
		}
	}
}
