package host_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/run/command"
)

// cacheDir holds the compiled plugin for all hosts of a test run.
var cacheDir string

// generousLimits set a step timeout that no step reaches, even on a busy machine.
var generousLimits = engine.Limits{StepTimeout: time.Minute}

// TestMain makes this executable also usable as the supervisor and as the program of
// command runners.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "runner-exec":
			os.Exit(command.Supervise(os.Args[2:]))
		case "never-end":
			os.Exit(neverEnd(os.Args[2]))
		case "ignore-signals":
			os.Exit(ignoreSignals(os.Args[2]))
		}
	}
	var err error
	if cacheDir, err = os.MkdirTemp("", "parley"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(cacheDir)
	os.Exit(code)
}

// neverEnd is the program of an agent that never ends by itself and starts a process
// that does not end either. It answers an announce prompt at once.
func neverEnd(address string) int {
	prompt, err := io.ReadAll(os.Stdin)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	case strings.Contains(string(prompt), "Your task is over"):
		fmt.Println("Status: success\nResult: this far\nNotes: it was cut off")
		return 0
	}
	fmt.Println("an answer that does not count")
	if err := exec.Command(os.Args[0], "ignore-signals", address).Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return ignoreSignals(address)
}

// ignoreSignals ignores termination signals. It keeps a connection open until the
// process ends.
func ignoreSignals(address string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_, err = io.Copy(io.Discard, conn) // the test sends nothing
	}
	fmt.Fprintln(os.Stderr, "the connection has ended", err)
	return 1
}
