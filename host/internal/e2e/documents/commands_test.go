package documents

import (
	"encoding/json"
	"errors"
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
