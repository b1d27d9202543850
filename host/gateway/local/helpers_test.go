package local_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// childDatabase is the environment variable that makes the test binary an owner of the
// database that it names.
const childDatabase = "PARLEY_TEST_OWNER_DATABASE"

func TestMain(m *testing.M) {
	if db := os.Getenv(childDatabase); db != "" {
		os.Exit(runChild(db))
	}
	os.Exit(m.Run())
}

// runChild owns the database until its standard input ends. It prints "ready" and then
// the path of every request, one per line. A request for /block is answered when the
// client disconnects.
func runChild(db string) int {
	syscall.Umask(0)
	b, err := sqlite.NewBackend(db, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := local.Acquire(context.Background(), db, b.Ownership(), &local.Options{Version: "v1", Command: "child"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l.Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path)
		if r.URL.Path == "/block" {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "hello")
	}))
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := l.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type child struct {
	*exec.Cmd
	t     *testing.T
	stdin io.Closer
	lines *bufio.Scanner
	ended bool
}

// startChild starts a child and waits until it owns the database.
func startChild(t *testing.T, db string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childDatabase+"="+db)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, t: t, stdin: in, lines: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	c.expect("ready")
	return c
}

func (c *child) expect(line string) {
	c.t.Helper()
	if !c.lines.Scan() || c.lines.Text() != line {
		c.t.Fatalf("child printed %q, want %q (%v)", c.lines.Text(), line, c.lines.Err())
	}
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// stop sends SIGSTOP and waits until the child has stopped.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGSTOP)
	var status unix.WaitStatus
	if _, err := unix.Wait4(c.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		c.t.Fatalf("child did not stop: %v, %v", status, err)
	}
}

func (c *child) kill() {
	if !c.ended {
		c.ended = true
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// end makes the child release the database and exit.
func (c *child) end() {
	c.t.Helper()
	c.ended = true
	c.stdin.Close()
	if err := c.Wait(); err != nil {
		c.t.Fatal(err)
	}
}
