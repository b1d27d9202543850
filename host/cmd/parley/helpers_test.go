package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// parley returns a command that runs this test binary as the program parley (see TestMain).
func parley(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{
		Path: self, Args: append([]string{"parley"}, args...), Stderr: os.Stderr,
		Env: append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "PARLEY_DB="+filepath.Join(dir, "test.db")),
	}
}

// model is an OpenAI-compatible endpoint that the test controls.
type model struct {
	asked  chan string // receives the last message of each request
	answer chan string // supplies the answer to each request
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	messages := gjson.GetBytes(body, "messages").Array()
	m.asked <- messages[len(messages)-1].Get("content").String()
	select {
	case text := <-m.answer:
		content, _ := json.Marshal(text)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", content)
		fmt.Fprint(w, "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	case <-r.Context().Done():
	}
}

// fixture is a directory with an imported database and a configuration in which the agents
// use the test's model.
type fixture struct {
	t   *testing.T
	dir string
	*model
}

func newFixture(t *testing.T, turns int) *fixture {
	t.Helper()
	fx := &fixture{t: t, dir: t.TempDir(), model: &model{asked: make(chan string), answer: make(chan string)}}
	endpoint := httptest.NewServer(fx.model)
	t.Cleanup(func() {
		endpoint.CloseClientConnections()
		endpoint.Close()
	})
	config := fmt.Sprintf(`{
	  session: { agentToAgent: { maxPingPongTurns: %d } },
	  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
	  agents: { defaults: { model: "m", runner: { kind: "openai", baseUrl: "%s/v1" } }, list: [{ id: "main", default: true }, { id: "ops" }, { id: "research" }] },
	}`, turns, endpoint.URL)
	if err := os.WriteFile(filepath.Join(fx.dir, "parley.json5"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	sample, err := filepath.Abs("../../../testdata/openclaw")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := fx.parley("import", "openclaw", sample, "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("import: %v: %s", err, out)
	}
	return fx
}

func (fx *fixture) parley(args ...string) *exec.Cmd {
	c := parley(fx.t, fx.dir, args...)
	c.Env = append(c.Env, "PARLEY_CONFIG="+filepath.Join(fx.dir, "parley.json5"))
	c.Stderr = nil
	return c
}

// serve starts a gateway and waits until it is ready.
func (fx *fixture) serve() *exec.Cmd {
	fx.t.Helper()
	c := fx.parley("serve", "--listen", "127.0.0.1:0", "--json")
	out, err := c.StdoutPipe()
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.start(c)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !gjson.Valid(line) {
		fx.t.Fatalf("serve prints %q, %v", line, err)
	}
	return c
}

func (fx *fixture) start(c *exec.Cmd) {
	fx.t.Helper()
	if err := c.Start(); err != nil {
		fx.t.Fatal(err)
	}
	fx.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
}

// callProcess is a process that executes parley call.
type callProcess struct {
	*exec.Cmd
	out    io.Reader
	stderr bytes.Buffer
}

// call starts a process that sends a message from the main session to the session to. more
// is added to the JSON arguments.
func (fx *fixture) call(to string, more string, flags ...string) *callProcess {
	fx.t.Helper()
	c := &callProcess{Cmd: fx.parley(append([]string{"call", "sessions_send", fmt.Sprintf(`{"sessionKey":%q,"message":"hello %s"%s}`, to, to, more), "--as", "agent:main:main"}, flags...)...)}
	c.Stderr = &c.stderr
	var err error
	if c.out, err = c.StdoutPipe(); err != nil {
		fx.t.Fatal(err)
	}
	fx.start(c.Cmd)
	return c
}

// result reads the call's result, which the process prints before it exits.
func (c *callProcess) result(t *testing.T) gjson.Result {
	t.Helper()
	var doc json.RawMessage
	if err := json.NewDecoder(c.out).Decode(&doc); err != nil {
		_ = c.Wait()
		t.Fatalf("no result: %v: %s", err, &c.stderr)
	}
	return gjson.ParseBytes(doc)
}

// expect waits for the next prompt to an agent and checks that it contains want.
func (fx *fixture) expect(want string) {
	fx.t.Helper()
	if got := <-fx.asked; !strings.Contains(got, want) {
		fx.t.Fatalf("prompt is %q, want it to contain %q", got, want)
	}
}

func (fx *fixture) kill(c *exec.Cmd) {
	fx.t.Helper()
	if err := c.Process.Kill(); err != nil {
		fx.t.Fatal(err)
	}
	_ = c.Wait()
}

// pollInterval is the interval of checks of conditions that nothing notifies.
const pollInterval = 5 * time.Millisecond

// flow waits until the only flow has ended and returns it with its runs and deliveries.
func (fx *fixture) flow() gjson.Result {
	fx.t.Helper()
	for tick := time.NewTicker(pollInterval); ; <-tick.C {
		f := fx.onlyFlow()
		if f.Get("endedAt").Int() == 0 {
			continue
		}
		out, err := fx.parley("flows", "show", f.Get("id").Str, "--json").Output()
		if err != nil {
			fx.t.Fatal(err)
		}
		return gjson.ParseBytes(out)
	}
}

// onlyFlow returns the only flow of the database.
func (fx *fixture) onlyFlow() gjson.Result {
	fx.t.Helper()
	out, err := fx.parley("flows", "--all", "--json").Output()
	if err != nil || gjson.GetBytes(out, "count").Int() != 1 {
		fx.t.Fatalf("flows: %v: %s", err, out)
	}
	return gjson.GetBytes(out, "flows.0")
}

// waitShutdown waits until the owner of the database has started its shutdown.
func waitShutdown(t *testing.T, dir string) {
	t.Helper()
	for tick := time.NewTicker(pollInterval); ; <-tick.C {
		text, err := os.ReadFile(filepath.Join(dir, "test.db.lock"))
		if err != nil {
			t.Fatal(err)
		}
		if gjson.GetBytes(text, "ending").Bool() {
			return
		}
	}
}

// ownerPID returns the process id of the database's owner.
func ownerPID(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "test.db.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return int(gjson.GetBytes(text, "pid").Int())
}
