package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// ownership returns the lock of the database in a file.
func ownership(t *testing.T, db string) store.Ownership {
	t.Helper()
	b, err := sqlite.NewBackend(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Ownership()
}

func acquire(t *testing.T, db string) *local.Owner {
	t.Helper()
	l, err := local.Acquire(t.Context(), db, ownership(t, db), &local.Options{Version: "v1", Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func get(t *testing.T, ctx context.Context, p *local.Peer, path string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, local.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.Transport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func dial(t *testing.T, db string, o *local.Options) *local.Peer {
	t.Helper()
	p, err := local.Dial(t.Context(), db, ownership(t, db), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestOneOwner(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	c := startChild(t, db)

	_, err := local.Acquire(t.Context(), db, ownership(t, db), nil)
	if !errors.Is(err, store.ErrOwned) {
		t.Fatalf("error is %v, want ErrOwned", err)
	}
	for _, want := range []string{db, fmt.Sprint("process ", c.Process.Pid), "parley child", "stop it first"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}

	p := dial(t, db, nil)
	if p.Info.PID != c.Process.Pid || p.Info.Database != db || p.Info.Version != "v1" {
		t.Errorf("owner's info is %+v", p.Info)
	}
	if _, body, err := get(t, t.Context(), p, "/greet"); err != nil || body != "hello" {
		t.Errorf("answer is %q, %v", body, err)
	}
	c.expect("/greet")

	c.end()
	acquire(t, db)
}

func TestAcquireAfterKilledOwner(t *testing.T) {
	for name, dir := range directories(t) {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(dir, "a.db")
			c := startChild(t, db)
			p := dial(t, db, nil)
			c.kill()
			if _, err := os.Lstat(p.Info.Socket); err != nil {
				t.Fatalf("the socket of a killed owner does not exist: %v", err)
			}
			if err := p.Ping(t.Context()); !errors.Is(err, local.ErrFree) {
				t.Errorf("ping of a killed owner: %v, want ErrFree", err)
			}
			if _, err := local.Dial(t.Context(), db, ownership(t, db), nil); !errors.Is(err, local.ErrFree) {
				t.Errorf("dial of a killed owner: %v, want ErrFree", err)
			}

			l := acquire(t, db)
			if l.Info().Socket != p.Info.Socket {
				if _, err := os.Lstat(filepath.Dir(p.Info.Socket)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the directory of the stale socket still exists: %v", err)
				}
			}
			if q := dial(t, db, nil); q.Info.PID != os.Getpid() {
				t.Errorf("owner is %v", &q.Info)
			}
		})
	}
}

// directories returns one directory whose path is short enough for a socket, and one whose
// path is not.
func directories(t *testing.T) map[string]string {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"short path": t.TempDir(), "long path": long}
}

func TestSocketIsPrivate(t *testing.T) {
	for name, dir := range directories(t) {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(dir, "a.db")
			c := startChild(t, db) // its umask is 0
			p := dial(t, db, nil)
			for _, path := range []string{p.Info.Socket, db + ".lock"} {
				st, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				if st.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v", path, st.Mode())
				}
			}
			if name == "long path" && strings.HasPrefix(p.Info.Socket, dir) {
				t.Errorf("socket %s is next to the database despite its long path", p.Info.Socket)
			}
			c.end()
			if _, err := os.Lstat(p.Info.Socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket still exists: %v", err)
			}
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(left) != 1 {
				t.Errorf("files left: %v, %v; want only the lock file", left, err)
			}
		})
	}
}

func TestRequestsWaitForTheHandler(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	l := acquire(t, db)
	p := dial(t, db, nil) // GET /v1/owner needs no handler
	got := make(chan string)
	go func() {
		_, body, err := get(t, t.Context(), p, "/x")
		got <- fmt.Sprint(body, err)
	}()
	l.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "now ") }))
	if s := <-got; s != "now <nil>" {
		t.Errorf("got %q", s)
	}
}

func TestShutdownBeforeHandleRefuses(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	l := acquire(t, db)
	p := dial(t, db, nil)
	got := make(chan error)
	go func() {
		status, _, err := get(t, t.Context(), p, "/x")
		if err == nil && status != http.StatusServiceUnavailable {
			err = fmt.Errorf("status %d", status)
		} else {
			err = nil // the request was refused, or the connection failed
		}
		got <- err
	}()
	if err := l.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestShutdownWaitsForRequests(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	l := acquire(t, db)
	arrived, release := make(chan bool), make(chan bool)
	l.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		fmt.Fprint(w, "done")
	}))
	p := dial(t, db, nil)
	got, closed := make(chan string), make(chan error)
	go func() {
		_, body, err := get(t, t.Context(), p, "/x")
		got <- fmt.Sprint(body, err)
	}()
	<-arrived
	go func() { closed <- l.Shutdown(context.Background()) }()
	close(release)
	if s := <-got; s != "done<nil>" {
		t.Errorf("got %q", s)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := local.Acquire(t.Context(), db, ownership(t, db), nil); !errors.Is(err, store.ErrOwned) {
		t.Errorf("after Shutdown: %v, want ErrOwned: the lock must still be held", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	acquire(t, db)
}

// Join waits for an ending owner for at most Options.ShutdownTimeout.
func TestJoinWaitsForEndingOwner(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	l := acquire(t, db)
	called := make(chan bool)
	l.OnShutdown(func() { close(called) })
	l.Handle(http.NotFoundHandler())
	if err := l.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-called
	_, _, err := local.Join(t.Context(), db, ownership(t, db), &local.Options{Timeout: 1, ShutdownTimeout: 2})
	if !errors.Is(err, local.ErrHung) || !strings.Contains(err.Error(), "which is shutting down and has not exited after 2ns") {
		t.Errorf("after the timeout: %v", err)
	}
	joined := make(chan error)
	go func() {
		next, _, err := local.Join(t.Context(), db, ownership(t, db), &local.Options{ShutdownTimeout: time.Hour})
		if next != nil {
			err = next.Close()
		}
		joined <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-joined; err != nil {
		t.Error(err)
	}
}

func TestCloseCancelsRequests(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	l := acquire(t, db)
	arrived, ended := make(chan bool), false
	l.Handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		ended = true
	}))
	p := dial(t, db, nil)
	got := make(chan error)
	go func() {
		_, _, err := get(t, t.Context(), p, "/x")
		got <- err
	}()
	<-arrived
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("Close returned before the handler did")
	}
	if err := <-got; err == nil {
		t.Error("the request was answered")
	}
}

func TestJoin(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		locks []*local.Owner
	)
	for range 8 {
		wg.Go(func() {
			l, p, err := local.Join(t.Context(), db, ownership(t, db), nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case l != nil && p != nil:
				t.Error("both lock and peer")
			case l != nil:
				locks = append(locks, l)
			default:
				p.Close()
			}
		})
	}
	wg.Wait()
	if len(locks) != 1 {
		t.Fatalf("%d owners", len(locks))
	}
	if err := locks[0].Close(); err != nil {
		t.Error(err)
	}
}

// A lock file that was copied with its database names the original database's socket,
// which must not be removed.
func TestCopiedLockFile(t *testing.T) {
	for name, dir := range directories(t) {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(dir, "a.db")
			first := acquire(t, db)
			text, err := os.ReadFile(db + ".lock")
			if err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(t.TempDir(), "b.db")
			if err := os.WriteFile(other+".lock", text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := local.Dial(t.Context(), other, ownership(t, other), nil); !errors.Is(err, local.ErrFree) {
				t.Errorf("dial of the copy: %v, want ErrFree", err)
			}
			acquire(t, other)
			if p := dial(t, db, nil); p.Info.Socket != first.Info().Socket {
				t.Errorf("socket %s", p.Info.Socket)
			}
		})
	}
}

// noFolder is the Ownership of a store that is not in a folder.
type noFolder struct{ store.Ownership }

func (noFolder) CompanionPath(string) string { return "" }

func TestStoreWithoutFolder(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Chdir(t.TempDir())
	db := filepath.Join(t.TempDir(), "a.db")
	l, err := local.Acquire(t.Context(), db, noFolder{ownership(t, db)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := dial(t, db, nil)
	if filepath.Dir(filepath.Dir(p.Info.Socket)) != runtime {
		t.Errorf("the socket is %s; want it below %s", p.Info.Socket, runtime)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(runtime); err != nil || len(left) != 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}
