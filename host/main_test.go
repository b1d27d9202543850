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

// compiled is where the compiled plugin is kept for all hosts of a test run.
var cacheDir string

// patient keeps the deadline of steps out of the way of tests, however busy the
// machine is.
var generousLimits = engine.Limits{StepTimeout: time.Minute}

// TestMain lets this executable be the supervisor of command agents, and the
// program of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "runner-exec":
			os.Exit(command.Supervise(os.Args[2:]))
		case "stubborn":
			os.Exit(neverEnd(os.Args[2]))
		case "clinging":
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

// stubborn is the program of an agent that never ends by itself, and neither does a
// process that it starts. Asked for an announce, it says at once what came of it.
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
	if err := exec.Command(os.Args[0], "clinging", address).Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return ignoreSignals(address)
}

// cling is a process that ignores every request to end. It holds a connection, which
// ends when the process does.
func ignoreSignals(address string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_, err = io.Copy(io.Discard, conn) // nothing comes
	}
	fmt.Fprintln(os.Stderr, "the connection has ended", err)
	return 1
}
