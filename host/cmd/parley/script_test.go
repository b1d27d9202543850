package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/engine/wasmtest"

	_ "modernc.org/sqlite" // the driver, to spoil databases with
)

var update = flag.Bool("update", false, "rewrite the golden texts of testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"parley": main, "visitor": visitor})
}

// TestScripts runs testdata/script. Beside testscript's own commands there are:
//
//	exits N PROGRAM ARGS…   run, and compare the exit code
//	json PATH WANT          compare a member of the JSON on standard output (gjson path)
//	start NAME ARGS…        start parley ARGS… --json and wait for its first line,
//	                        a serve's: sets URL, TOKEN and PID
//	signal NAME SIGNAL      KILL, TERM, HUP, STOP (waits until it has stopped) or CONT
//	ends NAME N             wait for the end, and compare the exit code
//	says NAME REGEXP        read lines of the standard error of NAME until one matches
//	post PATH STATUS BODY   POST to URL with TOKEN, and compare the status
//	hook STATUS             a webhook at HOOK, which answers with the status from now on
//	hooked REGEXP           wait for a post to the webhook that matches
//	expand FILE             replace the environment's variables in a file
//	until REGEXP PROGRAM ARGS…   run again and again until standard output matches
//	sql FILE STATEMENT      change a database behind its back
//	plain FILE              standard output to FILE, with times made equal
//
// bad/*.wasm are modules that are no plugins: abi (another version), exports
// (one is missing), wasi (it wants WASI), tools (it has none).
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			for name, value := range map[string]string{
				"HOME": filepath.Join(e.WorkDir, "home"), "XDG_CACHE_HOME": cache, "TZ": "UTC",
				"SAMPLE": filepath.Join(root, "testdata", "openclaw"), "ROOT": root,
				"DB": filepath.Join(e.WorkDir, "test.db"),
			} {
				e.Setenv(name, value)
			}
			e.Values[runningKey{}] = map[string]*running{}
			startHook(e)
			return errors.Join(os.Mkdir(e.Getenv("HOME"), 0o700), badModules(filepath.Join(e.WorkDir, "bad")))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": jsonMember, "start": start, "signal": signalProcess, "ends": ends,
			"says": says, "post": post, "sql": execSQL, "plain": plain,
			"hook": hook, "hooked": hooked, "expand": expand, "until": until,
		},
	})
}

// badModules writes modules that are no plugins of this host.
func badModules(dir string) error {
	errs := []error{os.Mkdir(dir, 0o700)}
	for name, change := range map[string]func(m *wasmtest.Module){
		"abi": func(m *wasmtest.Module) {
			m.Funcs[0].Body = wasmtest.Code(wasmtest.Say(`{"abi":7,"name":"test","version":"0","tools":[]}`), wasmtest.I32(0))
		},
		"exports": func(m *wasmtest.Module) { m.Funcs = m.Funcs[:2] },
		"wasi":    func(m *wasmtest.Module) { m.Imports[0].Module = "wasi_snapshot_preview1" },
		"tools":   func(*wasmtest.Module) {},
	} {
		m := wasmtest.Plugin(wasmtest.I32(0))
		change(m)
		errs = append(errs, os.WriteFile(filepath.Join(dir, name+".wasm"), m.Encode(), 0o600))
	}
	return errors.Join(errs...)
}

func need(ts *testscript.TestScript, neg bool, args []string, atLeast int, usage string) {
	if neg || len(args) < atLeast {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "exits N PROGRAM ARGS…")
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "until REGEXP PROGRAM ARGS…")
	for want := regexp.MustCompile(args[0]); ; {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
}

func jsonMember(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "json PATH WANT")
	doc := ts.ReadFile("stdout")
	if !gjson.Valid(doc) {
		ts.Fatalf("standard output is no JSON")
	}
	if got := gjson.Get(doc, args[0]).String(); got != args[1] {
		ts.Fatalf("%s is %q, want %q", args[0], got, args[1])
	}
}

// running is a parley in the background.
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
		ts.Fatalf("there is no process %s", name)
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
	for variable, member := range map[string]string{"URL": "url", "TOKEN": "token", "PID": "pid"} {
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

func post(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "post PATH STATUS BODY")
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("URL")+args[0], strings.NewReader(args[2]))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if strconv.Itoa(resp.StatusCode) != args[1] {
		ts.Fatalf("status is %s, want %s", resp.Status, args[1])
	}
}

func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "sql FILE STATEMENT")
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// webhook is what agents' messages are posted to.
type webhook struct {
	status atomic.Int64
	posts  chan string
}

type webhookKey struct{}

func hook(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "hook STATUS")
	status, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	h, ok := ts.Value(webhookKey{}).(*webhook)
	if !ok {
		ts.Fatalf("there is no webhook")
	}
	h.status.Store(status)
}

// startHook starts the webhook of a script.
func startHook(e *testscript.Env) {
	h := &webhook{posts: make(chan string, 64)}
	h.status.Store(http.StatusOK)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(int(h.status.Load()))
		h.posts <- string(body)
	}))
	e.Defer(s.Close)
	e.Setenv("HOOK", s.URL)
	e.Values[webhookKey{}] = h
}

func hooked(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "hooked REGEXP")
	want := regexp.MustCompile(args[0])
	for body := range ts.Value(webhookKey{}).(*webhook).posts {
		if want.MatchString(body) {
			return
		}
		ts.Logf("%s", body)
	}
}

func expand(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "expand FILE")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

var duration = regexp.MustCompile(`\d+\.\d ms`)

func plain(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "plain FILE")
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("SAMPLE"), "SAMPLE")
	var b bytes.Buffer
	b.WriteString(duration.ReplaceAllString(text, "N ms"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}
