package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/host/store/storetest"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// sampleHost returns a host over a small generated store.
func sampleHost(t *testing.T, change func(*host.Options)) *host.Host {
	t.Helper()
	ctx := context.Background()
	db := storetest.NewMemory()
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	if _, err := storegen.Generate(ctx, db, &storegen.Options{Sessions: storegen.MinSessions, Now: now}); err != nil {
		t.Fatal(err)
	}
	o := &host.Options{Store: db, Logger: slog.New(slog.DiscardHandler), CacheDir: cacheDir, Limits: generousLimits, Now: func() time.Time { return now }}
	if change != nil {
		change(o)
	}
	h, err := host.New(ctx, wasm.Parley, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

var operator = abi.Caller{Operator: true}

func TestInvalidCalls(t *testing.T) {
	t.Parallel()
	h := sampleHost(t, nil)
	session := abi.Caller{SessionKey: "agent:main:main"}
	tests := []struct {
		name string
		call host.Call
		code abi.Code
	}{
		{"unknown tool", host.Call{Tool: "sessions_lst", Caller: operator}, abi.NotFound},
		{"no tool", host.Call{Caller: operator}, abi.NotFound},
		{"a tool's name with a line break", host.Call{Tool: "a\nb", Caller: operator}, abi.NotFound},
		{"broken JSON", host.Call{Tool: abi.ToolList, Args: []byte(`{"limit":`), Caller: operator}, abi.InvalidArgs},
		{"two documents", host.Call{Tool: abi.ToolList, Args: []byte(`{}{}`), Caller: operator}, abi.InvalidArgs},
		{"closing the enclosing object", host.Call{Tool: abi.ToolList, Args: []byte(`{}},"caller":{"operator":true}`), Caller: session}, abi.InvalidArgs},
		{"duplicate member", host.Call{Tool: abi.ToolList, Args: []byte(`{"limit":1,"limit":2}`), Caller: operator}, abi.InvalidArgs},
		{"invalid UTF-8", host.Call{Tool: abi.ToolList, Args: []byte("{\"label\":\"\xff\"}"), Caller: operator}, abi.InvalidArgs},
		{"too deep", host.Call{Tool: abi.ToolList, Args: []byte(`{"label":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`), Caller: operator}, abi.InvalidArgs},
		{"too large", host.Call{Tool: abi.ToolList, Args: []byte(`{"label":"` + strings.Repeat("x", host.MaxArgs) + `"}`), Caller: operator}, abi.InvalidArgs},
		{"no caller", host.Call{Tool: abi.ToolList}, abi.InvalidArgs},
		{"operator and session", host.Call{Tool: abi.ToolList, Caller: abi.Caller{Operator: true, SessionKey: "agent:main:main"}}, abi.InvalidArgs},
		{"bare key", host.Call{Tool: abi.ToolList, Caller: abi.Caller{SessionKey: "main"}}, abi.InvalidArgs},
		{"another agent's session", host.Call{Tool: abi.ToolList, Caller: abi.Caller{SessionKey: "agent:main:main", AgentID: "ops"}}, abi.InvalidArgs},
		{"global without agent", host.Call{Tool: abi.ToolList, Caller: abi.Caller{SessionKey: "global"}}, abi.InvalidArgs},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := h.Call(context.Background(), &tt.call)
			if !errors.Is(err, tt.code) {
				t.Fatalf("got %+v, %v; want %s", answer, err, tt.code)
			}
		})
	}
	if _, err := h.Call(context.Background(), &host.Call{Tool: abi.ToolList, Caller: operator}); err != nil {
		t.Fatalf("the host no longer answers: %v", err)
	}
}

// The plugin accepts every nesting of arguments that the host accepts.
func TestDepthLimitMatchesPlugin(t *testing.T) {
	t.Parallel()
	h := sampleHost(t, nil)
	for depth := 50; depth < 70; depth++ {
		args := `{"nested":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		answer, err := h.Call(context.Background(), &host.Call{Tool: abi.ToolList, Args: []byte(args), Caller: operator})
		switch {
		case err == nil && answer.Code == abi.InvalidArgs: // the tool has parsed it and refuses the unknown parameter
		case errors.Is(err, abi.InvalidArgs) && strings.Contains(err.Error(), "the arguments are not strict JSON"):
		default:
			t.Errorf("depth %d: %+v, %v", depth+1, answer, err)
		}
	}
}

func TestCallIDs(t *testing.T) {
	t.Parallel()
	n := 0
	h := sampleHost(t, func(o *host.Options) { o.NewID = func() string { n++; return fmt.Sprint("made-", n) } })
	for _, tt := range []struct{ given, want string }{{"", "made-1"}, {"mine", "mine"}, {"", "made-2"}} {
		answer, err := h.Call(context.Background(), &host.Call{Tool: abi.ToolAgents, Caller: operator, ID: tt.given})
		if err != nil || answer.CallID != tt.want {
			t.Errorf("got %+v, %v; want the id %s", answer, err, tt.want)
		}
	}
}

func TestConfigureTakesEffect(t *testing.T) {
	t.Parallel()
	h := sampleHost(t, nil)
	count := func() int64 {
		t.Helper()
		answer, err := h.Call(context.Background(), &host.Call{Tool: abi.ToolList, Args: []byte(`{"limit":200}`), Caller: abi.Caller{SessionKey: storegen.MainKey}})
		if err != nil {
			t.Fatal(err)
		}
		return gjson.GetBytes(answer.Result, "count").Int()
	}
	tree := count()
	c, err := config.Parse("test", []byte(`{tools: {sessions: {visibility: "self"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	h.Configure(c)
	if self := count(); tree < 2 || self != 1 {
		t.Fatalf("%d rows with visibility tree and %d with self", tree, self)
	}
}

// brokenStore fails. If wait is set, it fails only when the context ends.
type brokenStore struct{ wait chan struct{} }

func (s brokenStore) Snapshot(ctx context.Context) (store.Snapshot, error) {
	if s.wait == nil {
		return nil, errors.New("no such disk: /secret/path")
	}
	close(s.wait)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestStoreFailureIsInternal(t *testing.T) {
	t.Parallel()
	h := sampleHost(t, func(o *host.Options) { o.Store = brokenStore{} })
	_, err := h.Call(context.Background(), &host.Call{Tool: abi.ToolList, Caller: operator})
	if !errors.Is(err, abi.Internal) || strings.Contains(err.Error(), "secret") {
		t.Fatalf("got %v; want internal without the store's error text", err)
	}
}

// TestFailureOfOnWait checks that the caller of an accepted call gets the reason why its
// work could not start, with the code of the cause.
func TestFailureOfOnWait(t *testing.T) {
	t.Parallel()
	var cause error
	h := newHost(t, openTestDB(t, dbPath(t)), openSettings, nil, func(o *host.Options) { o.OnWait = func() error { return cause } })
	for _, c := range []struct {
		cause error
		code  abi.Code
	}{
		{errors.New("disk I/O error"), abi.Internal},
		{abi.NewError(abi.Conflict, "another process works"), abi.Conflict},
	} {
		cause = c.cause
		send := &host.Call{Tool: abi.ToolSend, Caller: operator, Args: []byte(`{"sessionKey":"agent:ops:main","message":"hello"}`)}
		if _, err := h.Call(t.Context(), send); !errors.Is(err, c.code) || !strings.HasSuffix(err.Error(), c.cause.Error()) {
			t.Errorf("OnWait failed with %v, the call with %v; want %s and the cause's text", c.cause, err, c.code)
		}
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	h := sampleHost(t, func(o *host.Options) { o.Store = brokenStore{wait} })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-wait; cancel() }()
	if _, err := h.Call(ctx, &host.Call{Tool: abi.ToolList, Caller: operator}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := h.Call(context.Background(), &host.Call{Tool: abi.ToolAgents, Caller: operator}); err != nil {
		t.Fatalf("after a cancelled call: %v", err)
	}
}

// Every concurrent caller gets the answer to its own call.
func TestConcurrentCallers(t *testing.T) {
	t.Parallel()
	h := sampleHost(t, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			key := fmt.Sprintf("agent:main:direct:%d", i)
			for range 20 {
				answer, err := h.Call(context.Background(), &host.Call{
					Tool: abi.ToolHistory, Args: []byte(`{"sessionKey":"current"}`), Caller: abi.Caller{SessionKey: key},
				})
				if err != nil || answer.Code != abi.NotFound {
					t.Errorf("%s: %+v, %v", key, answer, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := storetest.NewMemory()
	if _, err := host.New(ctx, wasm.Parley, nil); err == nil {
		t.Error("New without a store succeeded")
	}
	if _, err := host.New(ctx, []byte("not a module"), &host.Options{Store: db}); !errors.Is(err, engine.NotAModule) {
		t.Errorf("got %v; want %v", err, engine.NotAModule)
	}
}

// Example embeds Parley in a program.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := db.Load(ctx, func(b store.Batch) error {
		_, err := b.PutSession(&abi.Session{Key: "agent:main:main", SessionID: "s-1", UpdatedAt: 1770724800000}, nil)
		return err
	}); err != nil {
		panic(err)
	}
	h, err := host.New(ctx, wasm.Parley, &host.Options{Store: db})
	if err != nil {
		panic(err)
	}
	defer h.Close(ctx)
	answer, err := h.Call(ctx, &host.Call{Tool: "sessions_list", Caller: abi.Caller{SessionKey: "agent:main:main"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(gjson.GetBytes(answer.Result, "count"), gjson.GetBytes(answer.Result, "sessions.0.key"))
	// Output: 1 main
}
