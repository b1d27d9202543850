package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/hostiletest"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/host/store/storetest"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const hostile = "../testdata/hostile"

// errorChain returns the texts of an error and of all errors that it wraps.
func errorChain(err error) string {
	var text strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintln(&text, err)
	}
	return text.String()
}

// TestHostile swaps each hostile plugin into a host and calls it. The attack must fail
// as the corpus expects and must not change the store. Calls in progress, other tools
// and other hosts in the process must not be affected.
func TestHostile(t *testing.T) {
	t.Parallel()
	n := newBackgroundLoad(t)
	a := newHostileFixture(t, withoutRollback)
	longest := a.send("agent:ops:main", "in progress during all attacks")
	for _, c := range hostiletest.Read(t, hostile) {
		t.Run(c.Name, func(t *testing.T) {
			a.T = t
			finish := a.send("agent:main:d", c.Name)
			n.during(func() {
				switch c.At {
				case hostiletest.Load, hostiletest.Start, hostiletest.Describe, hostiletest.Module:
					a.expectRefused(c)
				default:
					a.swap(c.Wasm)
					a.attack(c)
				}
			})
			if a.About().Version == "666" { // this plugin would also resume Parley's flows
				a.swap(wasm.Parley)
			}
			if err := finish(); err != nil {
				t.Errorf("the call in progress: %v", err)
			}
			a.swap(wasm.Parley)
			if err := expectMember(a.Host, abi.ToolList, `{"limit":100}`, "count", "5"); err != nil {
				t.Errorf("after the swap back to Parley: %v", err)
			}
		})
	}
	if err := longest(); err != nil {
		t.Errorf("the call in progress during all attacks: %v", err)
	}
}

// expectRefused checks that a host can neither start with the module nor swap to it.
func (a *hostileFixture) expectRefused(c *hostiletest.Case) {
	check := func(what string, err error) {
		a.Helper()
		kind := error(engine.Kind(c.Error))
		if c.At == hostiletest.Module {
			kind = abi.Code(c.Error)
		}
		if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), c.Says) {
			a.Errorf("%s: got %v, want %s with %q", what, err, c.Error, c.Says)
		}
	}
	_, err := host.New(a.Context(), c.Wasm, &host.Options{Store: storetest.NewMemory(), Logger: slog.New(slog.DiscardHandler), Limits: tightLimits})
	check("New", err)
	check("Swap", a.load(c.Wasm))
	if name := a.About().Name; name != "parley" {
		a.Errorf("%s serves", name)
	}
}

// attack attacks in the first step of a flow and in a later one, with a harmless call
// in between.
func (a *hostileFixture) attack(c *hostiletest.Case) {
	before := a.countRows()
	switch c.At {
	case hostiletest.Harmless:
		a.callHarmless(`{"do":"^"}`)
		a.callHarmless(`{"do":"^"}`)
	case hostiletest.Flow:
		a.expectParked(c, `{"do":"^"}`)
		before.flows++
	default:
		answer, err := a.call(`{"do":"^"}`)
		want := error(engine.Kind(c.Error))
		if c.At == hostiletest.Step {
			want = abi.Code(c.Error)
		}
		if !errors.Is(err, want) || !strings.Contains(errorChain(err), c.Says) {
			a.Errorf("the attack returned %+v, %v; want %s with %q", answer, errorChain(err), c.Error, c.Says)
		}
	}
	if after := a.countRows(); after != before {
		a.Errorf("the attack changed %+v to %+v", before, after)
	}
	if c.Any {
		return
	}
	a.callHarmless(`{"do":"something good"}`)
	if c.At == hostiletest.Call || c.At == hostiletest.Step {
		a.expectParked(c, `{"do":"~"}`)
		before.flows++
	}
	if after := a.countRows(); after != before {
		a.Errorf("the attack changed %+v to %+v", before, after)
	}
}

func (a *hostileFixture) callHarmless(args string) {
	a.Helper()
	answer, err := a.call(args)
	if err != nil || string(answer.Result) != `{"status":"ok"}` || answer.Code != "" || answer.FlowID != "" {
		a.Errorf("a harmless call: %+v, %v", answer, err)
	}
}

// expectParked makes a call whose later step is an attack. It checks that the call is
// accepted, its flow is parked, and no step is due. Then it drops the flow.
func (a *hostileFixture) expectParked(c *hostiletest.Case, args string) {
	a.Helper()
	answer, err := a.call(args)
	flows, err2 := a.Flows(a.Context(), &store.Filter{Limit: 1})
	if err2 != nil || len(flows) == 0 {
		a.Fatalf("no flow: %v; the call returned %+v, %v", err2, answer, err)
	}
	f := flows[0]
	for f.Status == store.FlowWaiting { // the answer may precede the parking
		if f, err2 = a.Flow(a.Context(), f.ID); err2 != nil {
			a.Fatal(err2)
		}
	}
	if f.Status != store.FlowParked || f.Plugin != "hostile 1" && f.Plugin != "parley 666" || !strings.Contains(f.Error, c.Says) {
		a.Errorf("the flow is %+v, want %q", f, c.Says)
	}
	if c.At != hostiletest.Flow && (f.Step != 1 || f.Failures != 2) {
		a.Errorf("the flow is parked at step %d after %d failures", f.Step, f.Failures)
	}
	if !f.Answered() && (!errors.Is(err, abi.Limit) || !strings.Contains(err.Error(), f.ID) || !strings.Contains(err.Error(), c.Says)) {
		a.Errorf("the call returned %+v, %v", answer, err)
	}
	if due, err := a.StepDue(a.Context()); due || err != nil {
		a.Errorf("a step is due: %v, %v", due, err)
	}
	if err := a.DropFlow(a.Context(), f.ID); err != nil {
		a.Error(err)
	}
}

// TestHostileResumesParleyFlows swaps to a plugin that claims to be Parley and crashes
// when it resumes Parley's flows. The flows are parked, and Parley resumes them after
// the swap back.
func TestHostileResumesParleyFlows(t *testing.T) {
	t.Parallel()
	a := newHostileFixture(t, withoutRollback)
	finish := a.send("agent:main:d", "^")
	a.swap(hostiletest.Wasm(t, hostile, "impostor"))
	if err := finish(); !errors.Is(err, abi.Limit) || !strings.Contains(err.Error(), "is parked: step: engine: resume: trap: unreachable") {
		t.Errorf("answered %v", err)
	}
	a.swap(wasm.Parley)
	answer, err := a.Call(t.Context(), &host.Call{
		Tool: abi.ToolSend, ID: "^", Caller: operator,
		Args: []byte(`{"sessionKey":"agent:main:d","message":"^","timeoutSeconds":600,"announce":"none"}`),
	})
	if err != nil || gjson.GetBytes(answer.Result, "reply").Str != "^" {
		t.Errorf("answered %+v, %v", answer, err)
	}
	if n := countRuns(t, a.Host, "agent:main:d"); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// TestHostileRollback checks that the host rolls back a plugin that fails repeatedly
// under the default settings.
func TestHostileRollback(t *testing.T) {
	t.Parallel()
	a := newHostileFixture(t, withRollback)
	a.swap(hostiletest.Wasm(t, hostile, "loop"))
	bad := a.ActivePlugin().Digest
	for range 3 {
		if _, err := a.call(`{"do":"^"}`); !errors.Is(err, engine.Fuel) {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := a.AwaitPlugin(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if err := expectMember(a.Host, abi.ToolList, `{"limit":100}`, "count", "5"); err != nil || a.About().Name != "parley" {
		t.Errorf("%s serves: %v", a.About().Name, err)
	}
}

// TestHostileLogIsBounded checks that a plugin's log lines and errors are bounded.
func TestHostileLogIsBounded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"logs", "huge-error", "huge-member"} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			a := newHostileFixture(t, withoutRollback, func(o *host.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			a.swap(hostiletest.Wasm(t, hostile, name))
			if _, err := a.call(`{"do":"^"}`); err == nil || len(err.Error()) > 5000 {
				t.Errorf("the attack returned %.200v", err)
			}
			if n := log.Len(); n > 16<<10 {
				t.Errorf("the log has %d bytes", n)
			}
		})
	}
}

// tightLimits keep attacks short. Parley's own calls stay within them.
var tightLimits = engine.Limits{Fuel: 50_000_000, StepTimeout: time.Minute, MemoryMiB: 16, HostCalls: 50, InMiB: 2, OutMiB: 1, LogLines: 20}

// Settings without verification, with and without automatic rollback.
var (
	withoutRollback = strings.Replace(openSettings, "{", `{ plugins: { verify: "none", rollback: { failures: 0 } },`, 1)
	withRollback    = strings.Replace(openSettings, "{", `{ plugins: { verify: "none" },`, 1)
)

// hostileFixture is a host into which tests swap hostile plugins while calls to Parley
// are in progress.
type hostileFixture struct {
	*testing.T
	*host.Host
	db    *sqlite.DB
	gates sync.Map // channels by message; each is closed when the agent may answer
}

func newHostileFixture(t *testing.T, settings string, change ...func(*host.Options)) *hostileFixture {
	t.Helper()
	a := &hostileFixture{T: t, db: openTestDB(t, dbPath(t))}
	hold := func(ctx context.Context, turn *runner.Turn) (string, error) {
		gate, _ := a.gates.Load(turn.Message)
		select {
		case <-gate.(chan struct{}):
			return turn.Message, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	a.Host = startHost(t, a.db, settings, hold, append(change, func(o *host.Options) { o.Limits = tightLimits })...)
	return a
}

// waitSignal is closed when a call begins to wait.
type waitSignal chan struct{}

func (s waitSignal) Suspend() { close(s) }
func (s waitSignal) Resume()  {}

// send starts a call that waits for an agent. finish lets the agent answer with the
// message and returns the call's error.
func (a *hostileFixture) send(key, message string) (finish func() error) {
	a.Helper()
	gate, waits, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	a.gates.Store(message, gate)
	go func() {
		answer, err := a.Call(context.Background(), &host.Call{
			Tool: abi.ToolSend, ID: strings.ReplaceAll(message, " ", "-"), Caller: operator,
			Args: fmt.Appendf(nil, `{"sessionKey":%q,"message":%q,"timeoutSeconds":600,"announce":"none"}`, key, message),
			Wait: waitSignal(waits),
		})
		if err == nil && gjson.GetBytes(answer.Result, "reply").Str != message {
			err = fmt.Errorf("answered %s", answer.Result)
		}
		ended <- err
	}()
	select {
	case <-waits:
	case err := <-ended:
		a.Fatalf("the call did not wait: %v", err)
	}
	return sync.OnceValue(func() error {
		close(gate)
		return <-ended
	})
}

func (a *hostileFixture) load(wasm []byte) error {
	_, err := a.Swap(a.Context(), &host.PluginFile{Wasm: wasm, Origin: "test"})
	return err
}

func (a *hostileFixture) swap(wasm []byte) {
	a.Helper()
	if err := a.load(wasm); err != nil {
		a.Fatal(err)
	}
}

// call calls the active plugin's first tool.
func (a *hostileFixture) call(args string) (*host.Answer, error) {
	return a.Call(a.Context(), &host.Call{Tool: a.Tools()[0].Name, Args: []byte(args), Caller: abi.Caller{SessionKey: "agent:main:a"}})
}

// rowCounts are the numbers of stored rows.
type rowCounts struct{ flows, runs, deliveries, sessions int }

func (a *hostileFixture) countRows() rowCounts {
	a.Helper()
	everything := &store.Filter{Limit: 1000}
	flows, err := a.Flows(a.Context(), everything)
	runs, err2 := a.Runs(a.Context(), everything)
	deliveries, err3 := a.Deliveries(a.Context(), everything)
	snapshot, err4 := a.db.Snapshot(a.Context())
	if err := errors.Join(err, err2, err3, err4); err != nil {
		a.Fatal(err)
	}
	sessions, err := snapshot.List(a.Context(), &abi.ListRequest{Limit: 1000, IncludeArchived: true})
	if err := errors.Join(err, snapshot.Close()); err != nil {
		a.Fatal(err)
	}
	return rowCounts{len(flows), len(runs), len(deliveries), len(sessions.Rows)}
}

// backgroundLoad is a second host in the same process with callers that continuously
// list, read and send, and check every answer.
type backgroundLoad struct {
	mu     sync.Mutex
	rounds [3]int // completed calls of each caller
	more   *sync.Cond
}

// newBackgroundLoad starts callers that run until the test ends.
func newBackgroundLoad(t *testing.T) *backgroundLoad {
	t.Helper()
	n := &backgroundLoad{}
	n.more = sync.NewCond(&n.mu)
	h := startHost(t, openTestDB(t, dbPath(t)), openSettings, func(_ context.Context, turn *runner.Turn) (string, error) { return "re: " + turn.Message, nil })
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i, round := range []func(n int) error{
		func(int) error { return expectMember(h, abi.ToolList, `{"limit":100}`, "count", "5") },
		func(int) error {
			return expectMember(h, abi.ToolHistory, `{"sessionKey":"agent:main:a"}`, "sessionKey", "agent:main:a")
		},
		func(n int) error {
			return expectMember(h, abi.ToolSend, fmt.Sprintf(`{"sessionKey":"agent:main:c","message":"%d","timeoutSeconds":600,"announce":"none"}`, n), "reply", fmt.Sprintf("re: %d", n))
		},
	} {
		all.Go(func() {
			for n1 := 0; ctx.Err() == nil; n1++ {
				if err := round(n1); err != nil {
					t.Errorf("a background caller: %v", err)
					return
				}
				n.mu.Lock()
				n.rounds[i]++
				n.mu.Unlock()
				n.more.Broadcast()
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return n
}

// expectMember makes a call as the operator and compares one member of the answer.
func expectMember(h *host.Host, tool, args, member, want string) error {
	answer, err := h.Call(context.Background(), &host.Call{Tool: tool, Args: []byte(args), Caller: operator})
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if got := gjson.GetBytes(answer.Result, member).String(); got != want || answer.Code != "" {
		return fmt.Errorf("%s: %s is %q, want %q: %s", tool, member, got, want, answer.Result)
	}
	return nil
}

// during calls do and then waits until each caller has completed a call that it began
// after do was called.
func (n *backgroundLoad) during(do func()) {
	n.mu.Lock()
	before := n.rounds
	n.mu.Unlock()
	do()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.rounds {
		for n.rounds[i] < before[i]+2 {
			n.more.Wait()
		}
	}
}
