//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/host/store/storetest"
)

// childEnv makes this test binary the worker of TestStoppedWorker. Its value is the
// path of the database.
const childEnv = "PARLEY_TEST_STOPPED_WORKER"

func TestMain(m *testing.M) {
	storetest.Main(backendAt)
	if path := os.Getenv(childEnv); path != "" {
		if err := runStoppedWorker(path); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const stoppedLease = 300 * time.Millisecond

// runStoppedWorker is a worker that claims run x and waits for a line on its standard
// input, during which the test stops the process. Then it updates the run if it still
// holds the claim.
func runStoppedWorker(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	var token int64
	err = db.Update(ctx, func(tx store.Tx) error {
		now := time.Now().UnixMilli()
		if _, err := tx.Lease("sleeper", now+stoppedLease.Milliseconds()); err != nil {
			return err
		}
		token, err = tx.Claim(store.KindRun, "x", "sleeper", now)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Println("claimed", token)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var held, leased bool
	err = db.Update(ctx, func(tx store.Tx) (err error) {
		if held, err = tx.Holds(store.KindRun, "x", "sleeper", token); err != nil {
			return err
		}
		if held {
			return tx.PutRun(&store.Run{ID: "x", Reply: "from the sleeper"})
		}
		leased, err = tx.Lease("sleeper", time.Now().Add(time.Hour).UnixMilli())
		return err
	})
	fmt.Println("holds", held, "leased", leased)
	return err
}

// TestStoppedWorker stops a worker of another process until its lease has expired and
// another worker has claimed its work. When the process continues, it changes nothing.
func TestStoppedWorker(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := open(t, path)
	err := db.Update(ctx, func(tx store.Tx) error {
		if err := tx.PutRun(&store.Run{ID: "x"}); err != nil {
			return err
		}
		return tx.Schedule(store.KindRun, "x", 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+path)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() }) // also ends a stopped process
	lines := bufio.NewReader(stdout)
	readLine := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the other process wrote %q, %v", line, err)
		}
		return strings.TrimSpace(line)
	}
	var theirs int64
	if line := readLine(); !strings.HasPrefix(line, "claimed ") {
		t.Fatal(line)
	} else if _, err := fmt.Sscan(line[len("claimed "):], &theirs); err != nil || theirs == 0 {
		t.Fatal(line, err)
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var ours int64
	attempts := 0
	for ours == 0 && t.Context().Err() == nil { // until the store considers the lease expired
		err := db.Update(ctx, func(tx store.Tx) error {
			now := time.Now().UnixMilli()
			if _, err := tx.Lease("waker", now+time.Hour.Milliseconds()); err != nil {
				return err
			}
			ours, err = tx.Claim(store.KindRun, "x", "waker", now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		attempts++
	}
	t.Logf("claimed at attempt %d, token %d after %d", attempts, ours, theirs)
	if ours <= theirs {
		t.Errorf("the token is %d; the token of the other worker's claim is %d", ours, theirs)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(stdin, "continue"); err != nil {
		t.Fatal(err)
	}
	if line := readLine(); line != "holds false leased false" {
		t.Errorf("the other process: %s", line)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
	v, err := db.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if run, err := v.Run(ctx, "x"); err != nil || run.Reply != "" {
		t.Errorf("the run is %+v, %v; want it unchanged", run, err)
	}
}
