package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// tight limits make attacks short; Parley itself needs less.
var tight = engine.Limits{Fuel: 50_000_000, StepTimeout: time.Minute, MemoryMiB: 16, HostCalls: 50, InMiB: 2, OutMiB: 1, LogLines: 20}

// trusting lets any version serve, and does not take one back by itself; wary does.
var (
	trusting = strings.Replace(everybody, "{", `{ plugins: { verify: "none", rollback: { failures: 0 } },`, 1)
	wary     = strings.Replace(everybody, "{", `{ plugins: { verify: "none" },`, 1)
)

// attacked is a host that hostile plugins are swapped into, while calls of the proper
// one are under way.
type attacked struct {
	*testing.T
	*host.Host
	db    *sqlite.DB
	gates sync.Map // by message: closed when its agent may answer
}

func newAttacked(t *testing.T, settings string, change ...func(*host.Options)) *attacked {
	t.Helper()
	a := &attacked{T: t, db: stocked(t, file(t))}
	hold := func(ctx context.Context, turn *runner.Turn) (string, error) {
		gate, _ := a.gates.Load(turn.Message)
		select {
		case <-gate.(chan struct{}):
			return turn.Message, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	a.Host = alive(t, a.db, settings, hold, append(change, func(o *host.Options) { o.Limits = tight })...)
	return a
}

// suspended is closed when a call begins to wait.
type suspended chan struct{}

func (s suspended) Suspend() { close(s) }
func (s suspended) Resume()  {}

// send begins a call that waits for an agent, which says what it is told when finish is
// called; that returns how the call ended.
func (a *attacked) send(key, message string) (finish func() error) {
	a.Helper()
	gate, waits, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	a.gates.Store(message, gate)
	go func() {
		answer, err := a.Call(context.Background(), &host.Call{
			Tool: abi.ToolSend, ID: strings.ReplaceAll(message, " ", "-"), Caller: operator,
			Args: fmt.Appendf(nil, `{"sessionKey":%q,"message":%q,"timeoutSeconds":600,"announce":"none"}`, key, message),
			Wait: suspended(waits),
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

func (a *attacked) load(wasm []byte) error {
	_, err := a.Swap(a.Context(), &host.Candidate{Wasm: wasm, Origin: "test"})
	return err
}

func (a *attacked) swap(wasm []byte) {
	a.Helper()
	if err := a.load(wasm); err != nil {
		a.Fatal(err)
	}
}

// attempt calls the active plugin's tool.
func (a *attacked) attempt(args string) (*host.Answer, error) {
	return a.Call(a.Context(), &host.Call{Tool: a.Tools()[0].Name, Args: []byte(args), Caller: abi.Caller{SessionKey: "agent:main:a"}})
}

// rows counts what is stored.
type rows struct{ flows, runs, deliveries, sessions int }

func (a *attacked) rows() rows {
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
	return rows{len(flows), len(runs), len(deliveries), len(sessions.Rows)}
}
