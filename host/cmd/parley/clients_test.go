package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clientCalls are the calls that every client makes, on the sample sessions.
var clientCalls = []clientCall{
	{"sessions_list", map[string]any{"kinds": []string{"cron"}, "limit": 2}},
	{"sessions_history", map[string]any{"sessionKey": "main", "limit": 3}},
	{"agents_list", map[string]any{}},
	{"sessions_history", map[string]any{"sessionKey": "agent:main:no-such-session"}},
}

type clientCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// callResult is the result of a call as an MCP client returns it.
type callResult struct {
	Content []struct {
		Type, Text string
	}
	StructuredContent map[string]any
	IsError           bool
}

// TestClients lists and calls the tools with two third-party MCP clients, over stdio and
// HTTP: the official TypeScript SDK and the command line of the MCP inspector.
func TestClients(t *testing.T) {
	if os.Getenv("PARLEY_CONFORM") == "" {
		t.Skip("installs Node packages: run ./build.sh conform clients")
	}
	clients := installClients(t)
	parley := buildParley(t)
	db := filepath.Join(t.TempDir(), "parley.db")
	run(t, nil, parley, "import", "openclaw", "../../../testdata/openclaw", "--db", db)

	calls, err := json.Marshal(clientCalls)
	if err != nil {
		t.Fatal(err)
	}
	sdk := func(t *testing.T, args ...string) {
		out := run(t, []string{"CALLS=" + string(calls)}, "node", append([]string{filepath.Join(clients, "client.mjs")}, args...)...)
		var got struct {
			Server  struct{ Name string }
			Tools   []struct{ Name string }
			Results []callResult
		}
		decode(t, out, &got)
		if got.Server.Name != "parley" {
			t.Errorf("the server's name is %q", got.Server.Name)
		}
		checkTools(t, got.Tools)
		checkResults(t, got.Results)
	}
	inspector := func(t *testing.T, args ...string) {
		base := append([]string{filepath.Join(clients, "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js"), "--cli"}, args...)
		var listed struct{ Tools []struct{ Name string } }
		decode(t, run(t, nil, "node", append(slices.Clone(base), "--method", "tools/list")...), &listed)
		checkTools(t, listed.Tools)
		results := make([]callResult, len(clientCalls))
		for i, c := range clientCalls {
			args := append(slices.Clone(base), "--method", "tools/call", "--tool-name", c.Name)
			for name, v := range c.Arguments {
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, "--tool-arg", name+"="+strings.Trim(string(text), `"`))
			}
			decode(t, run(t, nil, "node", args...), &results[i])
		}
		checkResults(t, results)
	}

	t.Run("sdk over stdio", func(t *testing.T) { sdk(t, "stdio", parley, "mcp", "--db", db) })
	t.Run("inspector over stdio", func(t *testing.T) { inspector(t, parley, "mcp", "--db", db) })

	url := serve(t, parley, db, "secret-token") + "/mcp"
	t.Run("sdk over http", func(t *testing.T) { sdk(t, "http", url, "secret-token") })
	t.Run("inspector over http", func(t *testing.T) {
		inspector(t, url, "--transport", "http", "--header", "Authorization: Bearer secret-token")
	})
	t.Run("sdk over stdio, another process owning the database", func(t *testing.T) { sdk(t, "stdio", parley, "mcp", "--db", db) })
}

func checkTools(t *testing.T, tools []struct{ Name string }) {
	t.Helper()
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"agents_list", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func checkResults(t *testing.T, results []callResult) {
	t.Helper()
	if len(results) != len(clientCalls) {
		t.Fatalf("got %d results for %d calls", len(results), len(clientCalls))
	}
	for i, r := range results {
		var text map[string]any
		if len(r.Content) != 1 || r.Content[0].Type != "text" || json.Unmarshal([]byte(r.Content[0].Text), &text) != nil {
			t.Errorf("call %d: content is not one text block of JSON: %+v", i, r.Content)
		}
		if diff := cmp.Diff(text, r.StructuredContent); diff != "" {
			t.Errorf("call %d: text and structured content differ:\n%s", i, diff)
		}
		if r.IsError != (i == 3) {
			t.Errorf("call %d: isError is %v: %v", i, r.IsError, text)
		}
	}
	if got := results[0].StructuredContent["count"]; got != 2.0 {
		t.Errorf("sessions_list: count is %v, want 2", got)
	}
	if got, _ := results[1].StructuredContent["messages"].([]any); len(got) != 3 {
		t.Errorf("sessions_history: %d messages, want 3", len(got))
	}
	if got := results[2].StructuredContent["requester"]; got != "main" {
		t.Errorf("agents_list: requester is %v, want main", got)
	}
	if got := results[3].StructuredContent["status"]; got != "error" {
		t.Errorf("unknown session: status is %v, want error", got)
	}
}

// installClients installs the locked packages and a copy of the script in a temporary
// directory.
func installClients(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata/clients", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}

func buildParley(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley")
	run(t, nil, "go", "build", "-o", path, ".")
	return path
}

// serve starts a gateway, stops it at the end of the test, and returns its URL.
func serve(t *testing.T, parley, db, token string) string {
	t.Helper()
	cmd := exec.Command(parley, "serve", "--db", db, "--listen", "127.0.0.1:0", "--json")
	cmd.Env = append(os.Environ(), "PARLEY_TOKEN="+token)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Listening string }
	decode(t, line, &ready)
	return "http://" + ready.Listening
}

func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}
