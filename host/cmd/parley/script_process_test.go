package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
	"golang.org/x/sys/unix"
)

// running is a parley process in the background.
type running struct {
	*exec.Cmd
	stderr *bufio.Reader
	ended  bool
}

type runningKey struct{}

func processes(ts *testscript.TestScript) map[string]*running {
	return ts.Value(runningKey{}).(map[string]*running)
}

func process(ts *testscript.TestScript, name string) *running {
	r := processes(ts)[name]
	if r == nil {
		ts.Fatalf("no process %s was started", name)
	}
	return r
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "start NAME ARGS…")
	parley, err := exec.LookPath(filepath.Join(strings.SplitN(ts.Getenv("PATH"), string(os.PathListSeparator), 2)[0], "parley"))
	ts.Check(err)
	cmd := exec.Command(parley, append(args[1:], "--json")...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR", "TZ", "PARLEY_TOKEN", "PARLEY_DB", "PARLEY_CONFIG"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	read, write, err := os.Pipe()
	ts.Check(err)
	cmd.Stderr = write
	ts.Check(cmd.Start())
	write.Close()
	r := &running{Cmd: cmd, stderr: bufio.NewReader(read)}
	processes(ts)[args[0]] = r
	ts.Defer(func() {
		if !r.ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		read.Close()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		rest, _ := io.ReadAll(r.stderr)
		ts.Fatalf("%v: %s", err, rest)
	}
	for variable, member := range map[string]string{"URL": "url", "TOKEN": "token", "PID": "pid", "SERVING": "plugin.digest"} {
		if v := gjson.Get(line, member); v.Exists() {
			ts.Setenv(variable, v.String())
		}
	}
}

func signalProcess(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "signal NAME SIGNAL")
	r := process(ts, args[0])
	s := map[string]syscall.Signal{
		"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}[args[1]]
	ts.Check(r.Process.Signal(s))
	if s == syscall.SIGSTOP {
		_, err := unix.Wait4(r.Process.Pid, nil, unix.WUNTRACED, nil)
		ts.Check(err)
	}
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ends NAME N")
	r := process(ts, args[0])
	r.ended = true
	_ = r.Wait()
	if got := strconv.Itoa(r.ProcessState.ExitCode()); got != args[1] {
		rest, _ := io.ReadAll(r.stderr)
		ts.Fatalf("%s ended with %s, want %s: %s", args[0], got, args[1], rest)
	}
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "says NAME REGEXP")
	want := regexp.MustCompile(args[1])
	for {
		line, err := process(ts, args[0]).stderr.ReadString('\n')
		if want.MatchString(line) {
			return
		}
		ts.Logf("%s", line)
		ts.Check(err)
	}
}
