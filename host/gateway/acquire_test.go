package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// waitContext calls onWait when its Done channel is requested.
type waitContext struct {
	context.Context
	onWait func()
}

func (w waitContext) Done() <-chan struct{} {
	w.onWait()
	return w.Context.Done()
}

// After a gateway was killed, a child that it forked may hold the lock until the child's
// exec. acquire waits for the exec.
func TestAcquireAfterKill(t *testing.T) {
	dead := exec.Command(os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "test.db")
	b, err := sqlite.NewBackend(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	child, err := local.Acquire(t.Context(), b.Location(), b.Ownership(), &local.Options{Command: "serve", LongRunning: true})
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Store: b, Command: "serve", LongRunning: true, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	if owner, err := acquire(t.Context(), o); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Fatalf("with a live gateway: %v, %v", owner, err)
	}
	text, err := os.ReadFile(db + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	former := strings.NewReplacer(fmt.Sprintf(`"api":%d`, local.API), `"api":1`, `,"stays":true`, "").Replace(string(text))
	if former == string(text) {
		t.Fatalf("the notice lacks both api and stays: %s", text)
	}
	if err := os.WriteFile(db+".lock", []byte(former), 0o600); err != nil {
		t.Fatal(err)
	}
	if owner, err := acquire(t.Context(), o); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Fatalf("with a gateway of an older version: %v, %v", owner, err)
	}
	killed := strings.Replace(string(text), fmt.Sprint(os.Getpid()), fmt.Sprint(dead.Process.Pid), 1)
	if err := os.WriteFile(db+".lock", []byte(killed), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := waitContext{t.Context(), sync.OnceFunc(func() {
		if err := child.Close(); err != nil {
			t.Error(err)
		}
	})}
	owner, err := acquire(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
}
