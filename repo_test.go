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
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// document is a Markdown file of the repository.
type document struct {
	path, text string
}

// documents returns all documents.
func documents(t *testing.T) (all []document) {
	t.Helper()
	out := execute(t, ".", nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	for _, path := range strings.Fields(out) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, document{path, string(text)})
	}
	if len(all) < 10 {
		t.Fatalf("found %d documents, want at least 10", len(all))
	}
	return all
}

// isGuide reports whether the document's commands and excerpts are tested here. Those of
// a single example are not: the example's own test runs it.
func (d *document) isGuide() bool {
	return !strings.HasPrefix(d.path, "examples/") || d.path == "examples/README.md"
}

var block = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks returns the document's code blocks in a language.
func (d *document) blocks(language string) (found []string) {
	for _, m := range block.FindAllStringSubmatch(d.text, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// prose returns the document without its code blocks.
func (d *document) prose() string { return block.ReplaceAllString(d.text, "") }

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

// build compiles the program parley into a folder.
func build(t *testing.T, dir string) (program string) {
	t.Helper()
	program = filepath.Join(dir, "parley")
	execute(t, ".", nil, "go", "build", "-o", program, "./host/cmd/parley")
	return program
}

// TestReadmeLength limits the README to 1,300 words.
func TestReadmeLength(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 1300 {
		t.Errorf("README.md has %d words; the limit is 1,300", n)
	}
}

// TestLinks checks that the files and headings to which the documents link exist.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.prose(), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := d.path
			if target != "" {
				path = filepath.Join(filepath.Dir(d.path), target)
			}
			text, err := os.ReadFile(path)
			if _, statErr := os.Stat(path); statErr != nil || anchor != "" && (err != nil || !slices.Contains(anchors(string(text)), anchor)) {
				t.Errorf("%s: the link %s leads to no file or heading", d.path, m[1])
			}
		}
	}
}

// TestRationale checks that each entry of the rationale has an anchor and a link in its
// index.
func TestRationale(t *testing.T) {
	text, err := os.ReadFile("RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := regexp.MustCompile(`(?m)^(?:<a id="([^"]+)"></a>\n)?### (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(entries) == 0 {
		t.Fatal("RATIONALE.md has no entries")
	}
	for _, e := range entries {
		if link := fmt.Sprintf("[%s](#%s)", strings.TrimSuffix(e[2], "?"), e[1]); e[1] == "" || !strings.Contains(string(text), link) {
			t.Errorf("RATIONALE.md: %q needs an anchor on the line before, and the link %s in the index", e[2], link)
		}
	}
}

// anchors returns the anchors of a document: those that GitHub generates for headings, and
// explicit ones.
func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	for _, m := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestDocumentPrograms builds and runs the documents' Go programs. Each must print a count
// of 0.
func TestDocumentPrograms(t *testing.T) {
	programs := 0
	for _, d := range documents(t) {
		for _, source := range d.blocks("go") {
			if !strings.HasPrefix(source, "package main") {
				continue
			}
			programs++
			dir := t.TempDir()
			file, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			execute(t, ".", nil, "go", "build", "-o", binary, file)
			if out := execute(t, dir, nil, binary); !strings.HasPrefix(out, "pong: ping\n{\"count\":1,") {
				t.Errorf("the program of %s printed %s", d.path, out)
			}
		}
	}
	if programs == 0 {
		t.Error("no document has a Go program")
	}
}

// TestDocumentExcerpts checks that each code block that is not a whole program is an
// excerpt of a file in the examples. It ignores indentation.
func TestDocumentExcerpts(t *testing.T) {
	flush := func(text string) string {
		return strings.TrimSpace(regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, ""))
	}
	for language, folder := range map[string]string{"go": "gateway", "js": "node", "python": "python", "rust": "rust/src", "java": "java/src"} {
		var files []string
		err := filepath.WalkDir(filepath.Join("examples", folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "node_modules":
				return fs.SkipDir
			case d.IsDir() || strings.HasSuffix(path, ".md"):
				return nil
			}
			text, err := os.ReadFile(path)
			files = append(files, flush(string(text)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, d := range documents(t) {
			for _, block := range d.blocks(language) {
				if strings.HasPrefix(block, "package main") || !d.isGuide() {
					continue
				}
				compared++
				if !slices.ContainsFunc(files, func(text string) bool { return strings.Contains(text, flush(block)) }) {
					t.Errorf("%s: no file of examples/%s has this:\n%s", d.path, folder, block)
				}
			}
		}
		if compared == 0 {
			t.Errorf("no document has an excerpt of examples/%s", folder)
		}
	}
}

// TestDocumentConfigurations checks that the program loads the documents' configurations.
func TestDocumentConfigurations(t *testing.T) {
	dir := t.TempDir()
	program := build(t, dir)
	for _, d := range documents(t) {
		for n, block := range d.blocks("json5") {
			config := filepath.Join(dir, fmt.Sprintf("%s-%d.json5", strings.ReplaceAll(d.path, "/", "-"), n))
			if err := os.WriteFile(config, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			execute(t, ".", []string{"PARLEY_TOKEN=a", "OPS_TOKEN=b"}, program, "sessions", "--config", config, "--db", filepath.Join(dir, "parley.db"))
		}
	}
}

// TestReadmeDemo compares the README's excerpt of the demo with the demo's golden output.
func TestReadmeDemo(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("host/cmd/parley/testdata/script/demo.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, golden, _ := strings.Cut(string(script), "-- golden --")
	excerpt := (&document{text: string(readme)}).blocks("console")
	if len(excerpt) != 1 {
		t.Fatalf("README.md has %d console blocks", len(excerpt))
	}
	for line := range strings.Lines(excerpt[0]) {
		pattern := regexp.QuoteMeta(strings.Join(strings.Fields(line), " "))
		pattern = strings.ReplaceAll(pattern, "…", ".*")
		if !regexp.MustCompile("(?m)^" + strings.ReplaceAll(pattern, " ", " +") + "$").MatchString(golden) {
			t.Errorf("the demo does not print %s", line)
		}
	}
}

// wants holds patterns for the output of the documents' commands. The first entry whose
// command is a prefix of the line applies.
var wants = []struct{ command, want string }{
	{"./parley import openclaw testdata/openclaw", `(?m)^  sessions +\d+`},
	{"./parley sessions", `(?m)^main +main `},
	{"./parley history main", `(?m)^assistant  20`},
	{"./parley call sessions_spawn", `"status": "accepted"`},
	{"./parley tree main", `(?m)^└─ agent:ops:subagent:\S+ |^├─ agent:ops:subagent:\S+ `},
	{"./parley send main", `^All three servers are up; `},
	{"./parley flows --all", `(?m)^f_\w+ +sessions_send +done +operator `},
	{"./parley flows --failed", `^$`},
	{"./parley runs", `(?m)^r_\w+ +(agent:main:main +done .* All three servers are up; |agent:ops:subagent:\S+ +(queued|running|done) )`},
	{"./parley deliveries --failed", `^$`},
	{"./parley deliveries", `^(DELIVERY|$)`},
	{"./parley plugin inspect", `(?m)^  usable +yes$`},
	{"./parley plugin verify", `passed`},
	{"./parley plugin swap", `is active already`},
	{"./parley plugin list --history", `built in`},
	{"./parley plugin list", `(?m)^[0-9a-f]{12} +parley \S+ +active `},
	{"curl ", `"ok":true`},
	{"openssl genpkey ", `^$`},
	{"openssl pkey ", `BEGIN PUBLIC KEY`},
	{"openssl pkeyutl ", `^$`},
}

// TestDocumentCommands runs the commands of each guide's shell blocks in their order, in
// a home directory that has only the program and copies of testdata and the module. It does
// not run the verbs of build.sh, because some of them run this test. It checks that they
// exist.
func TestDocumentCommands(t *testing.T) {
	program := build(t, t.TempDir())
	help := execute(t, ".", nil, "./build.sh", "help")
	for _, d := range documents(t) {
		lines := commands(d.blocks("sh"))
		if len(lines) == 0 || !d.isGuide() {
			continue
		}
		t.Run(d.path, func(t *testing.T) {
			sh := newShell(t, program)
			for _, line := range lines {
				if verb, ok := strings.CutPrefix(line, "./build.sh "); ok {
					if !strings.Contains(help, "\n  "+verb+" ") {
						t.Errorf("build.sh help does not explain %s", verb)
					}
					continue
				}
				t.Run(line, func(t *testing.T) { sh.run(t, line) })
			}
		})
	}
}

// shell runs the commands of one document.
type shell struct {
	parent *testing.T
	home   string
	env    []string
	url    string // of the gateway, once it is started
}

func newShell(t *testing.T, program string) *shell {
	home := t.TempDir()
	for _, folder := range []string{"testdata/openclaw", "testdata/script", "plugin/wasm"} {
		if err := os.CopyFS(filepath.Join(home, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, filepath.Join(home, "parley")); err != nil {
		t.Fatal(err)
	}
	return &shell{parent: t, home: home, env: []string{
		"PARLEY_TOKEN=secret", "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
	}}
}

func (sh *shell) run(t *testing.T, line string) {
	program, _, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "go build "):
		return // the test has built the program
	case strings.HasPrefix(line, "./parley serve"):
		sh.url = startServe(sh.parent, sh.home, sh.env, strings.Fields(line)[2:])
		return
	case program == "curl" || program == "openssl":
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is not installed", program)
		}
	}
	out := execute(t, sh.home, sh.env, "bash", "-c", strings.Replace(line, "http://127.0.0.1:8484", sh.url, 1))
	for _, w := range wants {
		if strings.HasPrefix(line, w.command) {
			if !regexp.MustCompile(w.want).MatchString(out) {
				t.Errorf("printed, without %s:\n%s", w.want, out)
			}
			return
		}
	}
	t.Error("the table wants has no pattern for this command")
}

// TestDocumentMentions checks the commands in running text: commands of parley exist and
// have the flags, tests after go test -run exist, and build.sh help explains the verbs.
func TestDocumentMentions(t *testing.T) {
	program := build(t, t.TempDir())
	help := execute(t, ".", nil, "./build.sh", "help")
	seen := map[string]bool{}
	for _, d := range documents(t) {
		for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(d.prose(), -1) {
			words := strings.Fields(m[1])
			if seen[m[1]] || len(words) < 2 {
				continue
			}
			seen[m[1]] = true
			switch words[0] {
			case "./build.sh":
				if !strings.Contains(help, "\n  "+words[1]+" ") {
					t.Errorf("%s: build.sh help does not explain %s", d.path, words[1])
				}
			case "parley", "./parley":
				checkMention(t, program, &d, words[1:])
			case "go":
				if i := slices.Index(words, "-run"); i > 0 {
					if out := execute(t, ".", nil, "go", "test", "-list", "^"+words[i+1]+"$", words[2]); !strings.Contains(out, words[i+1]+"\n") {
						t.Errorf("%s: %s has no %s", d.path, words[2], words[i+1])
					}
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("found %d commands in running text, want at least 20", len(seen))
	}
}

// checkMention checks that the program has a command and its flags.
func checkMention(t *testing.T, program string, d *document, words []string) {
	t.Helper()
	name := slices.IndexFunc(words, func(w string) bool { return !regexp.MustCompile(`^[a-z]+$`).MatchString(w) })
	if name < 0 {
		name = len(words)
	}
	if name > 2 {
		name = 2
	}
	out, err := exec.Command(program, append(words[:name:name], "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: parley %s: %v\n%s", d.path, strings.Join(words, " "), err, out)
	}
	for _, w := range words[name:] {
		if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !regexp.MustCompile(flag+`\b`).Match(out) {
			t.Errorf("%s: parley %s has no %s", d.path, strings.Join(words[:name], " "), flag)
		}
	}
}

// TestDocumentClients connects an MCP client with each client configuration in the
// documents.
func TestDocumentClients(t *testing.T) {
	program := build(t, t.TempDir())
	connected := 0
	for _, d := range documents(t) {
		for _, block := range d.blocks("json") {
			var settings struct {
				Servers map[string]struct {
					Command string
					Args    []string
					URL     string
					Headers map[string]string
				} `json:"mcpServers"`
			}
			if err := json.Unmarshal([]byte(block), &settings); err != nil || len(settings.Servers) == 0 {
				continue
			}
			sh := newShell(t, program)
			for name, s := range settings.Servers {
				var transport mcp.Transport
				if s.Command != "" {
					cmd := exec.Command(filepath.Join(sh.home, s.Command), s.Args...)
					cmd.Dir, cmd.Env = sh.home, append(os.Environ(), sh.env...)
					transport = &mcp.CommandTransport{Command: cmd}
				} else {
					url := startServe(t, sh.home, append(sh.env, "OPS_TOKEN=ops"), nil)
					header := strings.ReplaceAll(s.Headers["Authorization"], "${OPS_TOKEN}", "secret")
					transport = &mcp.StreamableClientTransport{
						Endpoint:   strings.Replace(s.URL, "http://127.0.0.1:8484", url, 1),
						HTTPClient: &http.Client{Transport: authorized(header)},
					}
				}
				client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
				if err != nil {
					t.Fatalf("%s: %s: %v", d.path, name, err)
				}
				tools, err := client.ListTools(t.Context(), nil)
				if err != nil || len(tools.Tools) != 5 {
					t.Errorf("%s: %s: %v, %v", d.path, name, tools, err)
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				connected++
			}
		}
	}
	if connected < 2 {
		t.Errorf("%d clients connected, want at least 2", connected)
	}
}

// authorized adds a header Authorization to every request.
type authorized string

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// TestBuildVerbs runs build.sh with help and with an unknown verb.
func TestBuildVerbs(t *testing.T) {
	help := execute(t, ".", nil, "./build.sh", "help")
	for _, verb := range []string{"demo", "test", "lint", "check", "wasm", "repro", "conform", "bench", "crash", "swaps", "soak", "fuzz", "long", "help"} {
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

// startServe starts the gateway on a free port, until the end of the test.
func startServe(t *testing.T, home string, env, args []string) (url string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(home, "parley"), append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...)...)
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
