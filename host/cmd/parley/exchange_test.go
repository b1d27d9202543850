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
	"syscall"
	"testing"

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

// flow waits until the only flow is over and returns it with its runs.
func (w *world) flow() gjson.Result {
	w.t.Helper()
	for {
		out, err := w.parley("flows", "--all", "--json").Output()
		if err != nil || gjson.GetBytes(out, "count").Int() != 1 {
			w.t.Fatalf("flows: %v: %s", err, out)
		}
		if gjson.GetBytes(out, "flows.0.endedAt").Int() == 0 {
			continue
		}
		out, err = w.parley("flows", "show", gjson.GetBytes(out, "flows.0.id").Str, "--json").Output()
		if err != nil {
			w.t.Fatal(err)
		}
		return gjson.ParseBytes(out)
	}
}

// A gateway that is killed while an agent answers leaves nothing behind but the
// attempt: the next one tries it again, and no turn is lost or made twice.
func TestSecondServeFinishes(t *testing.T) {
	script := []struct{ asked, answer string }{
		{"hello agent:ops:main", "first"}, {"first", "second"}, {"second", "third"}, {"An exchange with another agent is over", "ANNOUNCE_SKIP"},
	}
	for killed := range script {
		t.Run(fmt.Sprintf("killed at run %d", killed+1), func(t *testing.T) {
			w := newWorld(t, 2)
			gateway := w.serve()
			c := w.call("agent:ops:main", `,"timeoutSeconds":0`)
			if r := c.result(t); r.Get("status").Str != "accepted" {
				t.Errorf("result is %s", r.Raw)
			}
			for i, s := range script {
				w.question(s.asked)
				if i == killed {
					w.kill(gateway)
					gateway = w.serve()
					w.question(s.asked)
				}
				w.answer <- s.answer
			}
			all := w.flow()
			if note := all.Get("flow.note").Str; !strings.HasPrefix(note, "done: 2 turns") {
				t.Errorf("the flow ended: %s", note)
			}
			for i, r := range all.Get("runs").Array() {
				run := len(script) - 1 - i
				attempts := int64(1)
				if run == killed {
					attempts = 2
				}
				if r.Get("status").Str != "done" || r.Get("attempt").Int() != attempts || r.Get("reply").Str != script[run].answer {
					t.Errorf("run %d is %s after %s attempts: %s", run+1, r.Get("status"), r.Get("attempt"), r.Get("reply"))
				}
			}
			if n := all.Get("runs.#").Int(); n != int64(len(script)) {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// A call whose owner is killed while it waits becomes the owner, picks its call
// up, and stays until the exchange is over.
func TestCallOutlivesItsOwner(t *testing.T) {
	w := newWorld(t, 1)
	gateway := w.serve()
	c := w.call("agent:ops:main", `,"announce":"none"`)
	w.question("hello")
	w.kill(gateway)
	w.question("hello")
	if pid := ownerPID(t, w.dir); pid != c.Process.Pid {
		t.Errorf("the owner is %d, want the call, %d", pid, c.Process.Pid)
	}
	w.answer <- "here you are"
	if r := c.result(t); r.Get("reply").Str != "here you are" {
		t.Errorf("result is %s", r.Raw)
	}
	w.question("here you are")
	w.answer <- "REPLY_SKIP"
	if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "parley: done: 1 turn") {
		t.Errorf("%v: %s", err, &c.stderr)
	}
}

// A gateway that is told to end lets the agent at work finish; who waits for it
// goes to the next owner.
func TestServeEndsGracefully(t *testing.T) {
	w := newWorld(t, 0)
	gateway := w.serve()
	c := w.call("agent:ops:main", `,"announce":"none"`)
	w.question("hello")
	if err := gateway.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for ending(t, w.dir) == 0 { // until its socket is gone, and those who wait have been sent away
	}
	w.answer <- "in time"
	if err := gateway.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
	if r := c.result(t); r.Get("reply").Str != "in time" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	if attempt := w.flow().Get("runs.0.attempt").Int(); attempt != 1 {
		t.Errorf("%d attempts", attempt)
	}
}

// ending returns the process that owns the database, if it has been told to end.
func ending(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "test.db.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if !gjson.GetBytes(text, "ending").Bool() {
		return 0
	}
	return int(gjson.GetBytes(text, "pid").Int())
}

// A call that stays leaves the rest to the next owner when it is interrupted, and
// at once with --detach.
func TestCallLeaves(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		w := newWorld(t, 1)
		c := w.call("agent:ops:main", `,"announce":"none"`)
		w.question("hello")
		w.answer <- "first"
		if r := c.result(t); r.Get("reply").Str != "first" {
			t.Errorf("result is %s", r.Raw)
		}
		w.question("first")
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for ending(t, w.dir) == 0 {
		}
		w.answer <- "REPLY_SKIP" // the agent at work may end
		if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "is not over (turn 1 of 1: waiting for agent:main:main); it goes on with the next owner of the database, such as parley serve") {
			t.Errorf("%v: %s", err, &c.stderr)
		}
		w.serve()
		all := w.flow()
		if all.Get("runs.#").Int() != 2 || !strings.HasPrefix(all.Get("flow.note").Str, "done: 1 turn") {
			t.Errorf("the flow is %s", all.Raw)
		}
	})
	t.Run("detached", func(t *testing.T) {
		w := newWorld(t, 0)
		c := w.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`, "--detach")
		if r := c.result(t); r.Get("status").Str != "accepted" {
			t.Errorf("result is %s", r.Raw)
		}
		go func() { // the run may have begun, or not
			for {
				select {
				case <-w.asked:
					w.answer <- "late"
				case <-t.Context().Done():
					return
				}
			}
		}()
		if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "is not over (waiting for agent:ops:main); it goes on with the next owner") {
			t.Errorf("%v: %s", err, &c.stderr)
		}
		w.serve()
		if all := w.flow(); all.Get("runs.0.reply").Str != "late" {
			t.Errorf("the flow is %s", all.Raw)
		}
	})
}

// Of two calls at the same time one owns the database, and stays until the other
// one has its answer.
func TestCallsStayForEachOther(t *testing.T) {
	w := newWorld(t, 0)
	first := w.call("agent:ops:main", `,"announce":"none"`)
	w.question("hello agent:ops:main")
	second := w.call("agent:research:main", `,"announce":"none"`)
	w.question("hello agent:research:main")
	w.answer <- "one"
	w.answer <- "two"
	for _, c := range []*called{first, second} {
		if r := c.result(t); r.Get("status").Str != "ok" {
			t.Errorf("result is %s", r.Raw)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %s", err, &c.stderr)
		}
	}
}
