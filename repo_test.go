// Package parley holds the tests of the repository as a whole: packages depend on one
// another in one direction only, and the README's programs and commands work.
package parley

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// public lists the packages for other modules: those for programs that embed the host,
// and those for authors of plugins. Every other package is internal or a program.
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

// layer is a folder with the packages that its packages may import.
type layer struct {
	folder string
	may    []string
}

// layers lists the packages of this module that the packages of a layer may import, in
// addition to those of their own layer. /... means a package and all packages below it.
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

// TestDependencies checks the rules for imports from other modules and of testing.
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

// blocks returns the README's code blocks in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	if len(found) == 0 {
		t.Fatalf("README.md has no %s block", language)
	}
	return found
}

// execute runs a command and returns its standard output.
func execute(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// TestReadmeProgram builds and runs the README's Go program.
func TestReadmeProgram(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(blocks(t, "go")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "program")
	execute(t, ".", nil, "go", "build", "-o", binary, source)
	var got struct{ Count *int }
	if out := execute(t, dir, nil, binary); json.Unmarshal([]byte(out), &got) != nil || got.Count == nil || *got.Count != 0 {
		t.Errorf("the program printed %s", out)
	}
}

// TestReadmeExcerpts checks that each of the README's code blocks in other languages is
// part of a file of the examples, except for indentation.
func TestReadmeExcerpts(t *testing.T) {
	flush := func(text string) string {
		return strings.TrimSpace(regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, ""))
	}
	for language, folder := range map[string]string{"js": "node", "python": "python", "rust": "rust/src", "java": "java/src"} {
		var files []string
		err := filepath.WalkDir(filepath.Join("examples", folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "node_modules":
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			text, err := os.ReadFile(path)
			files = append(files, flush(string(text)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks(t, language) {
			if !slices.ContainsFunc(files, func(text string) bool { return strings.Contains(text, flush(block)) }) {
				t.Errorf("no file of examples/%s contains this block of README.md:\n%s", folder, block)
			}
		}
	}
}

// TestReadmeConfiguration checks that the command line accepts the README's
// configurations.
func TestReadmeConfiguration(t *testing.T) {
	dir := t.TempDir()
	for n, block := range blocks(t, "json5") {
		config := filepath.Join(dir, fmt.Sprintf("%d.json5", n))
		if err := os.WriteFile(config, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		execute(t, ".", []string{"PARLEY_TOKEN=a", "OPS_TOKEN=b"}, "go", "run", "./host/cmd/parley",
			"sessions", "--config", config, "--db", filepath.Join(dir, "parley.db"))
	}
}

// readmeOutputs holds patterns for the output of the README's commands, by their
// prefix.
var readmeOutputs = []struct{ command, want string }{
	{"./parley import openclaw testdata/openclaw", `(?m)^  sessions +\d+`},
	{"./parley sessions", `(?m)^main +main `},
	{"./parley history main", `(?m)^assistant  20`},
	{"./parley call sessions_spawn", `"status": "accepted"`},
	{"./parley tree main", `(?m)^└─ agent:ops:subagent:\S+ +done .* announce queued: delivered|^├─ agent:ops:subagent:\S+ +done .* announce queued: delivered`},
	{"./parley tree", `(?m)^└─ .*agent:\w+:subagent:\S+ .* killed `},
	{"./parley call sessions_list", `"kind": "cron"`},
	{"./parley send main", `^All three servers are up; `},
	{"./parley flows", `(?m)^f_\w+ +sessions_send +done +operator `},
	{"./parley runs", `(?m)^r_\w+ +(agent:main:main +done .* All three servers are up; |agent:ops:subagent:\S+ +done +subagent )`},
	{"./parley deliveries", `(?m)^d_\w+ +agent:main:main +telegram:\S+ +delivered +1 `},
	{"./parley plugin inspect", `(?m)^  usable +yes$`},
	{"./parley plugin verify", `passed`},
	{"./parley plugin swap", `is active already`},
	{"./parley plugin list", `(?m)^[0-9a-f]{12} +parley \S+ +active `},
	{"curl ", `"ok":true`},
}

// TestReadmeCommands runs the commands of the README's shell blocks in order, in an
// empty home directory with copies of testdata and the module. It does not run the
// verbs of build.sh, because those run the tests.
func TestReadmeCommands(t *testing.T) {
	home := t.TempDir()
	for _, folder := range []string{"testdata", "plugin/wasm"} {
		if err := os.CopyFS(filepath.Join(home, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PARLEY_TOKEN=secret", "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config")}
	execute(t, ".", nil, "go", "build", "-o", filepath.Join(home, "parley"), "./host/cmd/parley")
	parent, url := t, ""
	for _, line := range commands(blocks(t, "sh")) {
		t.Run(line, func(t *testing.T) {
			switch {
			case strings.HasPrefix(line, "go build ") || strings.HasPrefix(line, "./build.sh "):
				return
			case line == "./parley serve":
				url = startServe(parent, home, env)
				return
			case strings.HasPrefix(line, "curl "):
				if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CI") == "" {
					t.Skip("curl is not installed")
				}
			}
			out := execute(t, home, env, "bash", "-c", strings.Replace(line, "http://127.0.0.1:8484", url, 1))
			for _, w := range readmeOutputs {
				if strings.HasPrefix(line, w.command) {
					if !regexp.MustCompile(w.want).MatchString(out) {
						t.Errorf("output does not match %s:\n%s", w.want, out)
					}
					return
				}
			}
			t.Error("readmeOutputs has no pattern for this command")
		})
	}
}

// TestBuildVerbs runs build.sh with help and with an unknown verb.
func TestBuildVerbs(t *testing.T) {
	help := execute(t, ".", nil, "./build.sh", "help")
	for _, verb := range []string{"demo", "test", "check", "wasm", "repro", "conform", "bench", "crash", "swaps", "soak", "fuzz", "long", "help"} {
		if !strings.Contains(help, "\n  "+verb+" ") {
			t.Errorf("build.sh help does not explain %s", verb)
		}
	}
	var failed *exec.ExitError
	out, err := exec.Command("./build.sh", "nonsense").CombinedOutput()
	if !errors.As(err, &failed) || failed.ExitCode() != 2 || !strings.Contains(string(out), "unknown verb nonsense") {
		t.Errorf("unknown verb: %v, %s", err, out)
	}
}

// commands splits shell blocks into commands. It removes comments and joins lines that
// end in a backslash.
func commands(blocks []string) []string {
	var all []string
	for _, line := range strings.Split(strings.ReplaceAll(strings.Join(blocks, "\n"), "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// startServe starts the gateway on a free port. It stops at the end of the test.
func startServe(t *testing.T, home string, env []string) (url string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(home, "parley"), "serve", "--listen", "127.0.0.1:0", "--json")
	cmd.Dir, cmd.Env, cmd.Stderr = home, append(os.Environ(), env...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL string }
	if err := json.Unmarshal(line, &ready); err != nil || ready.URL == "" {
		t.Fatalf("serve printed %s", line)
	}
	return ready.URL
}
