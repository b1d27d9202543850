package run_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/run"
	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// TestMain makes the test binary usable as the supervisor of command runners.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "runner-exec" {
		os.Exit(command.Supervise(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func parse(t *testing.T, settings string) *config.Config {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, r *run.Runners, id string) runner.Runner {
	t.Helper()
	a, err := r.Runner(id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ask runs a turn in a session with a history.
func ask(t *testing.T, a runner.Runner, message string) (*runner.Outcome, error) {
	t.Helper()
	s := runnertest.NewSession()
	s.Add("user", "the history")
	s.Add("assistant", "was long")
	return a.Run(t.Context(), s.Turn(message))
}

func TestRunnersAreReused(t *testing.T) {
	first := parse(t, `{agents: {defaults: {runner: {kind: "script", replies: ["default"]}},
		list: [{id: "main"}, {id: "ops", runner: {kind: "script", replies: ["own"]}}]}}`)
	r := run.NewRunners(first, nil)
	main, ops := get(t, r, "main"), get(t, r, "ops")
	if get(t, r, "main") != main || get(t, r, "ops") != ops {
		t.Error("a runner was created twice")
	}
	r.Configure(parse(t, `{agents: {defaults: {runner: {kind: "script", replies: ["new"]}}}}`))
	if get(t, r, "main") == main {
		t.Error("a runner is used after its configuration was replaced")
	}
	for _, c := range []struct {
		of   runner.Runner
		want string
	}{{main, "default"}, {ops, "own"}, {get(t, r, "main"), "new"}} {
		if out, err := ask(t, c.of, "x"); err != nil || out.Text != c.want {
			t.Errorf("answered %+v, %v, want %s", out, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Setenv("RUNNERS_TEST_UNSET", "")
	r := run.NewRunners(parse(t, `{agents: {list: [
		{id: "none"},
		{id: "env", runner: {kind: "command", argv: ["x"], env: {KEY: {env: "RUNNERS_TEST_UNSET"}}}},
		{id: "good", runner: {kind: "script", replies: ["x"]}}]}}`), nil)
	for id, want := range map[string]string{
		"none":  `agent "none" has no runner: set agents.list[].runner, or agents.defaults.runner`,
		"env":   `agent "env": the environment variable RUNNERS_TEST_UNSET is not set; runner.env needs it`,
		"other": `agent "other" is not configured; configured: none, env, good`,
	} {
		if a, err := r.Runner(id); a != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v\nwant %s", id, a, err, want)
		}
	}
	get(t, r, "good")

	c := config.Default()
	c.Agents.Runner = &config.Runner{Kind: "telepathy"}
	if _, err := run.NewRunners(c, nil).Runner("main"); err == nil || !strings.Contains(err.Error(), "telepathy") {
		t.Errorf("unknown kind: %v", err)
	}
}

// Every setting of a script reaches its runner.
func TestScript(t *testing.T) {
	r := run.NewRunners(parse(t, `{agents: {list: [
		{id: "tool", runner: {kind: "script", replies: [{tool: "sessions_list", args: {limit: 3}, text: "got {{result}}", usage: {input: 900, output: 300}}]}},
		{id: "error", runner: {kind: "script", replies: [{error: "out of order", afterMs: 1}]}}]}}`), nil)
	s := runnertest.NewSession()
	out, err := get(t, r, "tool").Run(t.Context(), s.Turn("x"))
	if err != nil || out.Text != "got {}" || out.Usage == nil || *out.Usage.Input != 900 || *out.Usage.Output != 300 {
		t.Errorf("answered %+v, %v", out, err)
	}
	if calls := s.Calls(); len(calls) != 1 || calls[0].String() != `sessions_list{"limit":3}` {
		t.Errorf("called %v", calls)
	}
	if _, err := ask(t, get(t, r, "error"), "x"); err == nil || err.Error() != "out of order" {
		t.Errorf("failed with %v", err)
	}
}

func TestOpenAI(t *testing.T) {
	t.Setenv("RUNNERS_TEST_KEY", "the-key")
	for _, c := range []struct {
		settings string
		history  bool
	}{
		{"", true},
		{"historyMessages: 0", false},
		{"historyBytes: 0", false},
	} {
		var path, key string
		var body []byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path, key = r.URL.Path, r.Header.Get("Authorization")
			body, _ = io.ReadAll(r.Body)
			http.Error(w, `{"error": {"message": "no such model"}}`, http.StatusBadRequest)
		}))
		r := run.NewRunners(parse(t, `{agents: {defaults: {runner: {kind: "openai", baseUrl: "`+server.URL+`/v1",
			apiKey: {env: "RUNNERS_TEST_KEY"}, model: "tiny", `+c.settings+`}}}}`), &run.RunnerOptions{Client: server.Client()})
		if _, err := ask(t, get(t, r, "main"), "hello"); err == nil || !strings.Contains(err.Error(), "no such model") {
			t.Errorf("failed with %v", err)
		}
		server.Close()
		if path != "/v1/chat/completions" || key != "Bearer the-key" || gjson.GetBytes(body, "model").String() != "tiny" {
			t.Errorf("asked %s as %q for %s", path, key, body)
		}
		if got := strings.Contains(string(body), "the history"); got != c.history {
			t.Errorf("with %q: history present: %v", c.settings, got)
		}
	}
}

// A missing key is not an error, because local endpoints need no key. If the endpoint
// refuses the request, the error names the environment variable.
func TestOpenAIWithoutKey(t *testing.T) {
	t.Setenv("RUNNERS_TEST_UNSET", "")
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = r.Header.Values("Authorization")
		http.Error(w, `{"error": {"message": "who are you?"}}`, http.StatusUnauthorized)
	}))
	defer server.Close()
	r := run.NewRunners(parse(t, `{agents: {defaults: {runner: {kind: "openai", baseUrl: "`+server.URL+`/v1",
		apiKey: {env: "RUNNERS_TEST_UNSET"}, model: "tiny"}}}}`), &run.RunnerOptions{Client: server.Client()})
	_, err := ask(t, get(t, r, "main"), "hello")
	if err == nil || !strings.Contains(err.Error(), "who are you?; the environment variable RUNNERS_TEST_UNSET") || len(keys) != 0 {
		t.Errorf("failed with %v, and sent %q", err, keys)
	}
}

func TestCommand(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNNERS_TEST_KEY", "the-key")
	c := parse(t, `{agents: {list: [
		{id: "echo", runner: {kind: "command", argv: ["sh", "-c", "printf '%s|%s|' \"$KEY\" \"$1\"; pwd; cat", "sh", " a "],
			env: {KEY: {env: "RUNNERS_TEST_KEY"}}, historyMessages: 0}},
		{id: "short", runner: {kind: "command", argv: ["sh", "-c", "echo 12345"], maxOutputBytes: 4}}]}}`)
	c.Agents.List[0].Runner.Dir = dir
	r := run.NewRunners(c, &run.RunnerOptions{Supervisor: []string{self, "runner-exec"}})
	out, err := ask(t, get(t, r, "echo"), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if want := "the-key| a |" + dir + "\n"; !strings.HasPrefix(out.Text, want) || !strings.HasSuffix(out.Text, "hello") || strings.Contains(out.Text, "the history") {
		t.Errorf("answered %q, want %q and only the message", out.Text, want)
	}
	if _, ok := get(t, r, "echo").(runner.Reaper); !ok {
		t.Error("the runner is not a Reaper")
	}
	if _, err := ask(t, get(t, r, "short"), "x"); err == nil || !strings.Contains(err.Error(), "more than 4 bytes") {
		t.Errorf("long output: %v", err)
	}
}
