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

// model is an endpoint that tells what it is asked, and answers what it is told.
type model struct {
	asked  chan string // the last message of each request
	answer chan string
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

// world is a directory with an imported database, and agents whose answers the
// test gives.
type world struct {
	t   *testing.T
	dir string
	*model
}

func newWorld(t *testing.T, turns int) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), model: &model{asked: make(chan string), answer: make(chan string)}}
	endpoint := httptest.NewServer(w.model)
	t.Cleanup(func() {
		endpoint.CloseClientConnections()
		endpoint.Close()
	})
	config := fmt.Sprintf(`{
	  session: { agentToAgent: { maxPingPongTurns: %d } },
	  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
	  agents: { defaults: { model: "m", runner: { kind: "openai", baseUrl: "%s/v1" } }, list: [{ id: "main", default: true }, { id: "ops" }, { id: "research" }] },
	}`, turns, endpoint.URL)
	if err := os.WriteFile(filepath.Join(w.dir, "parley.json5"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	sample, err := filepath.Abs("../../../testdata/openclaw")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := w.parley("import", "openclaw", sample, "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("import: %v: %s", err, out)
	}
	return w
}

func (w *world) parley(args ...string) *exec.Cmd {
	c := parley(w.t, w.dir, args...)
	c.Env = append(c.Env, "PARLEY_CONFIG="+filepath.Join(w.dir, "parley.json5"))
	c.Stderr = nil
	return c
}

// serve starts an owner and waits until it is ready.
func (w *world) serve() *exec.Cmd {
	w.t.Helper()
	c := w.parley("serve", "--listen", "127.0.0.1:0", "--json")
	out, err := c.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.start(c)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !gjson.Valid(line) {
		w.t.Fatalf("serve says %q, %v", line, err)
	}
	return c
}

func (w *world) start(c *exec.Cmd) {
	w.t.Helper()
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
}

// called is a call in the background.
type called struct {
	*exec.Cmd
	out    io.Reader
	stderr bytes.Buffer
}

// call sends a message from the main session.
func (w *world) call(to string, more string, flags ...string) *called {
	w.t.Helper()
	c := &called{Cmd: w.parley(append([]string{"call", "sessions_send", fmt.Sprintf(`{"sessionKey":%q,"message":"hello %s"%s}`, to, to, more), "--as", "agent:main:main"}, flags...)...)}
	c.Stderr = &c.stderr
	var err error
	if c.out, err = c.StdoutPipe(); err != nil {
		w.t.Fatal(err)
	}
	w.start(c.Cmd)
	return c
}

// result reads the call's result, which comes before its end.
func (c *called) result(t *testing.T) gjson.Result {
	t.Helper()
	var doc json.RawMessage
	if err := json.NewDecoder(c.out).Decode(&doc); err != nil {
		_ = c.Wait()
		t.Fatalf("no result: %v: %s", err, &c.stderr)
	}
	return gjson.ParseBytes(doc)
}

// question waits for what an agent is asked next.
func (w *world) question(want string) {
	w.t.Helper()
	if got := <-w.asked; !strings.Contains(got, want) {
		w.t.Fatalf("asked %q, want %q in it", got, want)
	}
}

func (w *world) kill(c *exec.Cmd) {
	w.t.Helper()
	if err := c.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	_ = c.Wait()
}

// look is how often something is looked at that tells nobody when it changes.
const look = 5 * time.Millisecond

// flow waits until the only flow is over and returns it with its runs.
func (w *world) flow() gjson.Result {
	w.t.Helper()
	for tick := time.NewTicker(look); ; <-tick.C {
		f := w.onlyFlow()
		if f.Get("endedAt").Int() == 0 {
			continue
		}
		out, err := w.parley("flows", "show", f.Get("id").Str, "--json").Output()
		if err != nil {
			w.t.Fatal(err)
		}
		return gjson.ParseBytes(out)
	}
}

// onlyFlow returns the only flow there is.
func (w *world) onlyFlow() gjson.Result {
	w.t.Helper()
	out, err := w.parley("flows", "--all", "--json").Output()
	if err != nil || gjson.GetBytes(out, "count").Int() != 1 {
		w.t.Fatalf("flows: %v: %s", err, out)
	}
	return gjson.GetBytes(out, "flows.0")
}

// untilEnding waits until the owner of the database has been told to end.
func untilEnding(t *testing.T, dir string) {
	t.Helper()
	for tick := time.NewTicker(look); ; <-tick.C {
		text, err := os.ReadFile(filepath.Join(dir, "test.db.lock"))
		if err != nil {
			t.Fatal(err)
		}
		if gjson.GetBytes(text, "ending").Bool() {
			return
		}
	}
}
