package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/plugin/wasm"

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
//	keep NAME PATH          set a variable to such a member
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
//	plain FILE              standard output to FILE, with times, ids and paths made equal
//	aged FILE               standard output to FILE, without the ages of old rows and the padding that depends on them
//
// bad/*.wasm are modules that are no plugins: abi (another version), exports
// (one is missing), wasi (it wants WASI), tools (it has none); and such as do not
// what they should: other (it has another tool), answers (a member has another name).
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
			"exits": exits, "json": jsonMember, "keep": keep, "start": start, "signal": signalProcess, "ends": ends,
			"says": says, "post": post, "build": build, "keypair": keypair, "sign": sign, "sql": execSQL, "plain": plain,
			"hook": hook, "hooked": hooked, "expand": expand, "until": until, "aged": aged,
		},
	})
}

// badModules writes the modules of bad/.
func badModules(dir string) error {
	errs := []error{os.Mkdir(dir, 0o700)}
	for name, change := range map[string]func(m *wasmtest.Module){
		"abi": func(m *wasmtest.Module) {
			m.Funcs[0].Body = wasmtest.Code(wasmtest.Say(`{"abi":7,"name":"test","version":"0","tools":[]}`), wasmtest.I32(0))
		},
		"exports": func(m *wasmtest.Module) { m.Funcs = m.Funcs[:2] },
		"wasi":    func(m *wasmtest.Module) { m.Imports[0].Module = "wasi_snapshot_preview1" },
		"tools":   func(*wasmtest.Module) {},
		"other": func(m *wasmtest.Module) {
			m.Funcs[0].Body = wasmtest.Code(wasmtest.Say(`{"abi":1,"name":"test","version":"0","stateVersion":1,"resumes":[1,1],`+
				`"tools":[{"name":"weather","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true}]}`), wasmtest.I32(0))
		},
	} {
		m := wasmtest.Plugin(wasmtest.I32(0))
		change(m)
		errs = append(errs, os.WriteFile(filepath.Join(dir, name+".wasm"), m.Encode(), 0o600))
	}
	answers := bytes.ReplaceAll(wasm.Parley, []byte(`"count":`), []byte(`"kount":`))
	errs = append(errs, os.WriteFile(filepath.Join(dir, "answers.wasm"), answers, 0o600))
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
	want, tick := regexp.MustCompile(args[0]), time.NewTicker(look)
	for ; ; <-tick.C {
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

func keep(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "keep NAME PATH")
	v := gjson.Get(ts.ReadFile("stdout"), args[1])
	if !v.Exists() {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], v.String())
}

func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "sql FILE STATEMENT")
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

func expand(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "expand FILE")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// masks hide what is another each time: times, ports, folders and ids, and the padding
// that depends on them.
var masks = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`(?m)^parley: waiting .*\n`), ""}, // on a slow machine
	{regexp.MustCompile(`\d+\.\d ms`), "N ms"},
	{regexp.MustCompile(`runtime \d+s`), "runtime Ns"},
	{regexp.MustCompile(`\b\d+[smhd] ago\b`), "N ago"},
	{regexp.MustCompile(`(  | in )[\d.]+m?s\b`), "${1}N s"},
	{regexp.MustCompile(`127.0.0.1:\d{2,}`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`/\S+/parley-demo-\d+/demo`), "TEMP"},
	{regexp.MustCompile(`(agent:(?:logs|disks|backup):subagent:)[0-9a-f-]{36}`), "${1}UUID"},
	{regexp.MustCompile(` id [0-9a-f-]{36} `), " id UUID "},
	{regexp.MustCompile(`transcript \S+\.jsonl`), "transcript PATH"},
	{regexp.MustCompile(`\b([rd])_[a-z2-7]+`), "${1}_ID"},
	{regexp.MustCompile(`(?m)^[0-9a-f]{12}\b`), "DIGEST"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}

func plain(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "plain FILE")
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("SAMPLE"), "$SAMPLE")
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.by)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// ages are what is another each day.
var ages = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b\d+d ago\b`), "long ago"},
	{regexp.MustCompile(`\b\d{3,}h\d+m[\d.]+s\b`), "long"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}

func aged(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "aged FILE")
	text := ts.ReadFile("stdout")
	for _, m := range ages {
		text = m.what.ReplaceAllString(text, m.by)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
