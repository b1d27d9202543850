package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/parley-wasm/parley/host/store"
)

// ownerEnv makes a test binary the owner of a store. Its value is the location.
const ownerEnv = "PARLEY_TEST_OWNER"

// Main runs the processes that ExerciseBackend starts. TestMain must call it first. It
// does not return in those processes, and does nothing in all others.
func Main(at func(location string) (store.Backend, error)) {
	location := os.Getenv(ownerEnv)
	if location == "" {
		return
	}
	if err := ownStore(at, location); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// ownStore holds the lock of the store until standard input ends.
func ownStore(at func(location string) (store.Backend, error), location string) error {
	b, err := at(location)
	if err != nil {
		return err
	}
	owned, err := b.Ownership().Acquire(context.Background())
	if err != nil {
		return err
	}
	if err := owned.Publish([]byte(noticeOf(os.Getpid()))); err != nil {
		return err
	}
	fmt.Println("owned")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return owned.Release()
}

func noticeOf(pid int) string { return fmt.Sprintf("process %d", pid) }

// ownerProcess is a process that owns a store.
type ownerProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
}

// startOwner starts a process and waits until it owns the store.
func startOwner(t *testing.T, location string) *ownerProcess {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), ownerEnv+"="+location), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &ownerProcess{t, cmd, stdin}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			c.kill()
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "owned\n" {
		t.Fatalf("the other process wrote %q, %v; does TestMain call storetest.Main?", line, err)
	}
	return c
}

// notice returns the notice that the process has published.
func (c *ownerProcess) notice() string { return noticeOf(c.cmd.Process.Pid) }

// end makes the process exit normally.
func (c *ownerProcess) end() {
	c.t.Helper()
	_ = c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the other process: %v", err)
	}
}

// kill kills the process and waits for its end.
func (c *ownerProcess) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Errorf("kill: %v", err)
	}
	_ = c.cmd.Wait() // the error reports that it was killed
}
