package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func startShell(t *testing.T, limit time.Duration, script string) *Process {
	t.Helper()
	p, err := StartProcess(t.Context(), "shell", limit, "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestProcessWait(t *testing.T) {
	for name, test := range map[string]struct {
		limit  time.Duration
		script string
		killed bool
		fails  string // part of the error
	}{
		"success":  {time.Minute, "exit 0", false, ""},
		"failure":  {time.Minute, "echo why; exit 3", false, "exit status 3: why"},
		"killed":   {time.Minute, "kill -9 $$", true, ""},
		"too long": {100 * time.Millisecond, "exec sleep 60", false, "deadline exceeded"},
	} {
		killed, err := startShell(t, test.limit, test.script).Wait()
		if killed != test.killed || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: killed %v, %v", name, killed, err)
		}
	}
}

// Stopped reports a stopped process and, after SIGCONT, its end. Kill may be called
// twice.
func TestProcessStopped(t *testing.T) {
	p := startShell(t, time.Minute, "kill -STOP $$; exit 0")
	for _, want := range []bool{true, false} {
		stopped, err := p.Stopped()
		if stopped != want || err != nil {
			t.Fatalf("stopped: %v, %v; want %v", stopped, err, want)
		}
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	}
	if _, err := startShell(t, time.Minute, "exit 3").Stopped(); err == nil {
		t.Error("no error for a process that failed instead of stopping")
	}
}
