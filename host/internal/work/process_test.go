package work_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// childDatabase is an environment variable: if it names a database, the test binary
// runs as a worker on that database.
const childDatabase = "PARLEY_TEST_WORK_DATABASE"

// shortLease is the lease in the test with two processes.
const shortLease = 2 * time.Second

func TestMain(m *testing.M) {
	if db := os.Getenv(childDatabase); db != "" {
		if err := child(db); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child claims "d", prints "claimed", waits for a line on standard input, and then
// tries to write through its stale claim.
func child(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := work.NewWorker(&work.WorkerOptions{Store: db, Lease: shortLease, Name: "child", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	c, err := w.Claim(ctx, store.KindDelivery, "d", nil)
	if err != nil || c == nil {
		return fmt.Errorf("claim: %v, %w", c, err)
	}
	fmt.Println("claimed")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	ran := false
	for _, write := range []func(context.Context, func(store.Tx) error) error{c.Update, c.Finish, c.GiveBack} {
		err := write(ctx, func(tx store.Tx) error {
			ran = true
			return increment("d")(tx)
		})
		if !errors.Is(err, work.ErrLost) || ran {
			return fmt.Errorf("stale write: %v, ran %t", err, ran)
		}
	}
	<-c.Context().Done()
	if cause := context.Cause(c.Context()); !errors.Is(cause, work.ErrLost) {
		return fmt.Errorf("the claim ended with cause %v", cause)
	}
	fmt.Println("lost")
	return nil
}

// If a process is stopped for longer than its lease, another process does its work
// once. The resumed process changes nothing.
func TestStoppedProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openFile(t, path)
	schedule(t, s, "d", 0)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childDatabase+"="+path)
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
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "claimed" {
		t.Fatalf("the child printed %q", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the child did not stop: %v, %v", status, err)
	}

	w, err := work.NewWorker(&work.WorkerOptions{Store: s, Lease: shortLease, Name: "parent"})
	if err != nil {
		t.Fatal(err)
	}
	finished := make(chan error, 1)
	tries := 0
	a, err := work.NewTimerQueue(&work.TimerQueueOptions{
		Store: s, Kind: store.KindDelivery, Poll: 20 * time.Millisecond,
		Handle: func(ctx context.Context, id string) error {
			tries++
			c, err := w.Claim(ctx, store.KindDelivery, id, nil)
			if err == nil && c != nil {
				finished <- c.Finish(ctx, increment(id))
			}
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-finished; err != nil {
		t.Error(err)
	}
	if err := errors.Join(a.Close(t.Context()), w.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if tries < 2 {
		t.Error("the work was claimable at once; the child had no lease")
	}

	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "continue\n"); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "lost" {
		t.Errorf("the child printed %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if n := counter(t, s, "d"); n != 1 {
		t.Errorf("the work was done %d times", n)
	}
}
