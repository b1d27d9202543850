package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// listenForProcesses returns a listener to which processes connect for as long as they run.
func listenForProcesses(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return l
}

// acceptProcesses waits for n processes to connect and returns a function that waits
// until they have ended.
func acceptProcesses(t *testing.T, l *net.TCPListener, n int) (gone func()) {
	t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		var err error
		if conns[i], err = l.Accept(); err != nil {
			t.Fatalf("process %d of %d did not connect: %v", i+1, n, err)
		}
	}
	return func() {
		t.Helper()
		for _, conn := range conns {
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a process still runs")
			}
			conn.Close()
		}
	}
}

// programSettings returns settings in which the agent ops is a program that connects
// to l and never ends by itself.
func programSettings(t *testing.T, l *net.TCPListener) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{ agents: {
	  defaults: { subagents: { allowAgents: ["*"] } },
	  list: [
	    { id: "main", default: true },
	    { id: "ops", runner: { kind: "command", argv: [%q, "never-end", %q], env: { GORACE: "atexit_sleep_ms=0" } } },
	  ],
	} }`, self, l.Addr().String())
}

// useConfiguredRunners makes the host use the runners of the settings.
func useConfiguredRunners(o *host.Options) { o.Runners = nil }

// checkStatus checks a child's status after its report: in the store, in the tree and
// in the list. A successful announce must not change it to "done".
func checkStatus(t *testing.T, h *host.Host, db store.Store, parent string, s spawned, want string) {
	t.Helper()
	if got := getSession(t, db, s.child); got.Status != want {
		t.Errorf("the child's status is %q, want %q", got.Status, want)
	}
	tree, err := h.Tree(t.Context(), &host.TreeQuery{Key: parent})
	if err != nil || len(tree.Roots[0].Children) == 0 {
		t.Fatalf("%+v, %v", tree, err)
	}
	for _, n := range tree.Roots[0].Children {
		if n.Key == s.child && (n.Status != want || n.FlowID != s.flow || n.RunID != s.run || !strings.Contains(n.Report, "delivered")) {
			t.Errorf("the tree shows %+v, want %s", n, want)
		}
	}
	answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolList, Caller: session(parent)})
	if err != nil {
		t.Fatal(err)
	}
	if got := gjson.GetBytes(answer.Result, `sessions.#(key="`+s.child+`").status`).Str; got != want {
		t.Errorf("the list shows %q, want %q: %s", got, want, answer.Result)
	}
}

// A child that exceeds its time limit is ended with all its processes, and announced
// with the status "timeout" (S5.1, S5.5).
func TestProgramTimeout(t *testing.T) {
	t.Parallel()
	l, db, w := listenForProcesses(t), openTestDB(t, dbPath(t)), &captureSink{}
	putSessions(t, db, telegramSession("agent:main:p"))
	h := abortOnCleanup(t, startHost(t, db, programSettings(t, l), nil, useConfiguredRunners, w.install))
	s := spawn(t, h, session("agent:main:p"), `{"task":"never end","agentId":"ops","runTimeoutSeconds":5}`)
	acceptProcesses(t, l, 2)()
	if got := awaitStatus(t, h, s.flow); !strings.Contains(got, "announce queued: delivered") {
		t.Errorf("the flow's status text is %q", got)
	}
	got := w.onlyReport(t, "agent:main:p")
	if got.status != "timeout" || got.result != "this far" || got.notes != "it was cut off (the run took longer than its limit of 5s)" {
		t.Errorf("announced %+v", got)
	}
	checkStatus(t, h, db, "agent:main:p", s, abi.RunTimeout)
}

// A child that the operator aborts is ended with all its processes, and announced with
// the status "killed".
func TestAbortProgram(t *testing.T) {
	t.Parallel()
	l, db, w := listenForProcesses(t), openTestDB(t, dbPath(t)), &captureSink{}
	putSessions(t, db, telegramSession("agent:main:p"))
	h := abortOnCleanup(t, startHost(t, db, programSettings(t, l), nil, useConfiguredRunners, w.install))
	s := spawn(t, h, session("agent:main:p"), `{"task":"never end","agentId":"ops"}`)
	gone := acceptProcesses(t, l, 2)
	r, err := h.AbortRun(t.Context(), s.run, "enough")
	if err != nil || r.Status != abi.RunKilled || r.Reply != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	gone()
	awaitStatus(t, h, s.flow)
	got := w.onlyReport(t, "agent:main:p")
	if got.status != "killed" || got.result != "this far" || got.notes != "it was cut off (enough)" {
		t.Errorf("announced %+v", got)
	}
	checkStatus(t, h, db, "agent:main:p", s, abi.RunKilled)
}

// A queued child that is aborted never begins. It is announced nevertheless, although
// all slots for children are in use.
func TestAbortQueuedChild(t *testing.T) {
	t.Parallel()
	db, w, began := openTestDB(t, dbPath(t)), &captureSink{}, make(chan string, 2)
	putSessions(t, db, telegramSession("agent:main:p"))
	h := abortOnCleanup(t, startHost(t, db, `{agents: {defaults: {subagents: {maxConcurrent: 1}}}}`, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if isAnnounceTurn(turn) {
			return "Notes: nothing was done", nil
		}
		return hangingAgent(began)(ctx, turn)
	}, w.install))
	first := spawn(t, h, session("agent:main:p"), `{"task":"hang"}`)
	<-began
	second := spawn(t, h, session("agent:main:p"), `{"task":"wait"}`)
	r, err := h.AbortRun(t.Context(), second.run, "changed my mind")
	if err != nil || r.Status != abi.RunKilled || r.StartedAt != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	awaitStatus(t, h, second.flow)
	got := w.onlyReport(t, "agent:main:p")
	if got.status != "killed" || got.result != "-" || got.notes != "nothing was done (changed my mind)" || !strings.HasPrefix(got.stats, "runtime n/a · tokens n/a · ") {
		t.Errorf("announced %+v", got)
	}
	checkStatus(t, h, db, "agent:main:p", second, abi.RunKilled)
	if _, err := h.AbortRun(t.Context(), first.run, ""); err != nil {
		t.Error(err)
	}
	awaitStatus(t, h, first.flow)
	if got := w.onlyReport(t, "agent:main:p"); got.status != "killed" || strings.Contains(got.stats, "runtime n/a") {
		t.Errorf("announced %+v", got)
	}
	if len(began) != 0 {
		t.Error("the aborted child has begun")
	}
}

// A host is closed while a child runs. The next host on the store retries the child's
// run and announces the child once (S5.8, S10.2).
func TestChildResumesOnNextHost(t *testing.T) {
	t.Parallel()
	db, w, began := openTestDB(t, dbPath(t)), &captureSink{}, make(chan int, 2)
	putSessions(t, db, telegramSession("agent:main:p"))
	act := func(ctx context.Context, turn *runner.Turn) (string, error) {
		if isAnnounceTurn(turn) {
			return "Result: at last", nil
		}
		began <- turn.Attempt
		if turn.Attempt == 1 {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "in attempt 2", nil
	}
	first := startHost(t, db, `{}`, act, w.install)
	s := spawn(t, first, session("agent:main:p"), `{"task":"continue"}`)
	<-began
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Close(now); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if posts := w.take(); len(posts) > 0 {
		t.Fatalf("announced before the child has ended: %q", posts)
	}

	next := startHost(t, db, `{}`, act, w.install)
	if n := <-began; n != 2 {
		t.Errorf("the next host made attempt %d, want 2", n)
	}
	awaitStatus(t, next, s.flow)
	if got := w.onlyReport(t, "agent:main:p"); got.status != "success" || got.result != "at last" {
		t.Errorf("announced %+v", got)
	}
	if r, err := next.Run(t.Context(), s.run); err != nil || r.Attempt != 2 || r.Reply != "in attempt 2" {
		t.Errorf("%+v, %v", r, err)
	}
	if n := countRuns(t, next, s.child); n != 2 {
		t.Errorf("%d runs in the child, want its own and the announce", n)
	}
	checkStatus(t, next, db, "agent:main:p", s, abi.RunDone)
}
