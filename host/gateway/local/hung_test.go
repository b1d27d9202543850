package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/gateway/local"
)

func TestStoppedOwner(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	c := startChild(t, db)
	o := &local.Options{Timeout: 200 * time.Millisecond}
	p := dial(t, db, o)
	c.stop()

	_, peer, err := local.Join(t.Context(), db, ownership(t, db), o)
	if !errors.Is(err, local.ErrHung) || peer != nil {
		t.Fatalf("peer %v, error %v; want ErrHung", peer, err)
	}
	for _, want := range []string{db, fmt.Sprint(c.Process.Pid), "did not answer within 200ms", "kill -CONT", "try again"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
	if err := p.Ping(t.Context()); !errors.Is(err, local.ErrHung) {
		t.Errorf("ping: %v, want ErrHung", err)
	}

	c.signal(syscall.SIGCONT)
	if err := (dial(t, db, nil)).Ping(t.Context()); err != nil {
		t.Errorf("after SIGCONT: %v", err)
	}
}

func TestWatchCancelsRequestToStoppedOwner(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	c := startChild(t, db)
	p := dial(t, db, &local.Options{Timeout: 200 * time.Millisecond})
	ctx, stop := p.Watch(t.Context())
	defer stop()
	go func() {
		if c.lines.Scan() { // the request has arrived
			_ = c.Process.Signal(syscall.SIGSTOP)
		}
	}()
	if _, _, err := get(t, ctx, p, "/block"); err == nil {
		t.Error("the request was answered")
	}
	if err := context.Cause(ctx); !errors.Is(err, local.ErrHung) {
		t.Errorf("cause is %v, want ErrHung", err)
	}
}

// foreignOwner holds the lock, as another version of the program would, and serves h on
// the socket. If h is nil, it opens no socket.
func foreignOwner(t *testing.T, db string, h http.Handler) {
	t.Helper()
	lock, err := ownership(t, db).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release() })
	info := local.Info{PID: 4711, Database: db, Socket: db + ".sock"}
	notice, err := json.Marshal(&info)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Publish(notice); err != nil {
		t.Fatal(err)
	}
	if h == nil {
		return
	}
	l, err := net.Listen("unix", info.Socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
}

func TestForeignOwners(t *testing.T) {
	cases := map[string]struct {
		handler http.Handler
		kind    error
		text    string
	}{
		"another API": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(local.Info{API: local.API + 1, Version: "v9"})
		}), local.ErrMismatch, `version "v9" has API 3`},
		"an older API": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(local.Info{API: 1, Version: "v0"})
		}), local.ErrMismatch, `version "v0" has API 1, but this program has API 2: stop that process, or use the same version`},
		"no API":    {http.NotFoundHandler(), local.ErrHung, "HTTP status 404"},
		"not JSON":  {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hi") }), local.ErrHung, "invalid character"},
		"no socket": {nil, local.ErrHung, "unreachable"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "a.db")
			foreignOwner(t, db, c.handler)
			_, _, err := local.Join(t.Context(), db, ownership(t, db), &local.Options{Timeout: 100 * time.Millisecond})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "4711") {
				t.Errorf("error is %v, want kind %v and %q", err, c.kind, c.text)
			}
		})
	}
}
