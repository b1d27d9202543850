package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/store"
)

const tools = `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":["session"]}]}`

var status = local.Status{
	Info: local.Info{PID: 7}, Config: "/c.json5", Plugin: local.Plugin{Name: "p", Version: "1"},
	Keys: sessionkey.Settings{MainKey: "home", DefaultAgent: "ops"},
}

// serve becomes the owner of a new database and returns the owner and a client. The owner
// answers calls with call and imports with load.
func serve(t *testing.T, call http.HandlerFunc, load func(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error)) (*local.Owner, *local.Client) {
	t.Helper()
	db := filepath.Join(t.TempDir(), "a.db")
	lock, err := local.Acquire(t.Context(), db, ownership(t, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tools", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tools) })
	if call != nil {
		mux.HandleFunc("POST /v1/call", call)
	}
	k := &fakeOwner{load: load}
	mux.Handle("/", httpapi.NewLocal(k, k, nil))
	lock.Handle(mux)
	peer, err := local.Dial(t.Context(), db, ownership(t, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := local.NewClient(t.Context(), peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return lock, c
}

func TestStatusAndTools(t *testing.T) {
	_, c := serve(t, nil, nil)
	if d := cmp.Diff(&status, c.Status()); d != "" {
		t.Error(d)
	}
	if c.Keys() != status.Keys {
		t.Errorf("keys are %+v", c.Keys())
	}
	want := []abi.Tool{{Name: "t", Description: "d", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`), ReadOnly: true, Needs: []string{"session"}}}
	if d := cmp.Diff(want, c.Tools()); d != "" {
		t.Error(d)
	}
}

func TestCall(t *testing.T) {
	answers := map[string]struct {
		status int
		body   string
		want   *host.Answer
		err    error
	}{
		"ok":            {200, `{"callId":"c1","result":{"count":1}}`, &host.Answer{CallID: "c1", Result: []byte(`{"count":1}`)}, nil},
		"tool error":    {200, `{"callId":"c1","result":{"status":"forbidden"},"code":"forbidden"}`, &host.Answer{CallID: "c1", Result: []byte(`{"status":"forbidden"}`), Code: abi.Forbidden}, nil},
		"unknown tool":  {404, `{"error":{"code":"not_found","message":"there is no tool"}}`, nil, abi.NotFound},
		"limit":         {500, `{"error":{"code":"limit","message":"too long"}}`, nil, abi.Limit},
		"full disk":     {507, `{"error":{"code":"limit","message":"no room"}}`, nil, store.ErrFull},
		"unknown code":  {500, `{"error":{"code":"new","message":"?"}}`, nil, abi.Internal},
		"not JSON":      {500, `oops`, nil, abi.Internal},
		"stopping":      {503, `bye`, nil, local.ErrFree},
		"empty answer":  {200, ``, nil, nil},
		"not an object": {200, `[]`, nil, nil},
	}
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			var body string
			_, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				body = string(b)
				w.WriteHeader(a.status)
				fmt.Fprint(w, a.body)
			}, nil)
			got, err := c.Call(t.Context(), &host.Call{Tool: "t", Args: []byte(`{"a":1}`), ID: "c1", Caller: abi.Caller{SessionKey: "agent:a:main", AgentID: "a", Sandboxed: true}})
			if a.want == nil && (err == nil || a.err != nil && !errors.Is(err, a.err)) || a.want != nil && err != nil {
				t.Errorf("error is %v, want %v", err, a.err)
			}
			if d := cmp.Diff(a.want, got); d != "" {
				t.Error(d)
			}
			const want = `{"tool":"t","args":{"a":1},"caller":{"sessionKey":"agent:a:main","agentId":"a","sandboxed":true,"depth":0,"hops":0},"callId":"c1"}`
			if body != want {
				t.Errorf("sent %s, want %s", body, want)
			}
		})
	}
}

func TestOwnerEndsDuringCall(t *testing.T) {
	arrived := make(chan bool)
	lock, c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}, nil)
	got := make(chan error)
	go func() {
		_, err := c.Call(t.Context(), &host.Call{Tool: "t"})
		got <- err
	}()
	<-arrived
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, local.ErrFree) {
		t.Errorf("error is %v, want ErrFree", err)
	}
	if _, err := c.Call(t.Context(), &host.Call{Tool: "t"}); !errors.Is(err, local.ErrFree) {
		t.Errorf("error is %v, want ErrFree", err)
	}
}

func TestCallCancelled(t *testing.T) {
	ended := make(chan bool)
	_, c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(ended)
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := c.Call(ctx, &host.Call{Tool: "t"})
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want Canceled", err)
	}
}

func TestImport(t *testing.T) {
	report := &importer.Report{Dir: "/d", Bytes: 9, Problems: []importer.Problem{{File: "f", Line: 3, Kind: importer.BrokenLine, Text: "x"}}}
	_, c := serve(t, nil, func(_ context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error) {
		if dir != "/d" {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
		}
		progress(importer.Progress{Done: 1, Total: 9})
		progress(importer.Progress{Done: 9, Total: 9, Sessions: 2})
		return report, nil
	})
	var seen []importer.Progress
	got, err := c.Import(t.Context(), "/d", func(p importer.Progress) { seen = append(seen, p) })
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(report)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("report is %s, want %s", b, a)
	}
	if d := cmp.Diff([]importer.Progress{{Done: 1, Total: 9}, {Done: 9, Total: 9, Sessions: 2}}, seen); d != "" {
		t.Error(d)
	}
	if _, err := c.Import(t.Context(), "/d", nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Import(t.Context(), "/no", nil); !errors.Is(err, abi.NotFound) {
		t.Errorf("error is %v, want NotFound", err)
	}
	if _, err := c.Import(t.Context(), "relative", nil); !errors.Is(err, abi.InvalidArgs) {
		t.Errorf("error is %v, want InvalidArgs", err)
	}
}

func TestOneImportAtATime(t *testing.T) {
	started, gone := make(chan bool), make(chan bool)
	lock, c := serve(t, nil, func(ctx context.Context, _ string, _ func(importer.Progress)) (*importer.Report, error) {
		close(started)
		<-ctx.Done()
		close(gone)
		return nil, ctx.Err()
	})
	got := make(chan error)
	go func() {
		_, err := c.Import(t.Context(), "/d", nil)
		got <- err
	}()
	<-started
	if _, err := c.Import(t.Context(), "/d", nil); !errors.Is(err, abi.Conflict) {
		t.Errorf("second import: %v, want Conflict", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	<-gone
	if err := <-got; err == nil {
		t.Error("the cancelled import succeeded")
	}
}
