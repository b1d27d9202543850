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

	_ "modernc.org/sqlite" // the driver of the command sql
)

var update = flag.Bool("update", false, "rewrite the golden texts of testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"parley": main, "probe": probe})
}

// TestScripts runs testdata/script. Besides the commands of testscript, there are:
//
//	exits N PROGRAM ARGS…   run a program and check the exit code
//	json PATH WANT          check the value at a gjson path in the JSON on standard output
//	keep NAME PATH          set a variable to the value at a gjson path in that JSON
//	start NAME ARGS…        start parley ARGS… --json as process NAME and wait for its first
//	                        line; for serve, set URL, TOKEN, PID and SERVING (the plugin's digest)
//	signal NAME SIGNAL      send KILL, TERM, HUP, STOP (and wait until NAME has stopped) or CONT
//	ends NAME N             wait until NAME ends and check its exit code
//	says NAME REGEXP        read lines of the standard error of NAME until one matches
//	post PATH STATUS BODY   POST to URL with TOKEN and check the status
//	webhook STATUS          set the response status of the webhook at $HOOK
//	posted REGEXP           wait for a post to the webhook that matches
//	expand FILE             expand the environment variables in a file
//	until REGEXP PROGRAM ARGS…   run a program repeatedly until its standard output matches
//	sql FILE STATEMENT      execute a statement on a database file
//	normalize FILE          write standard output to FILE, with times, ids and paths replaced
//	normalize-ages FILE     write standard output to FILE, with the ages of old rows replaced
//	build FILE VERSION      write a copy of the plugin with another version number
//	keypair NAME            create a signing key and set NAME to the public key
//	sign NAME FILE [SIG]    sign a file
//
// Four modules in bad/ cannot serve as the plugin: abi (has another ABI version), exports
// (lacks an export), wasi (imports WASI) and tools (has no tools). Two fail verification:
// other (has none of the session tools) and answers (misnames a member of its results).
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
			startWebhook(e)
			return errors.Join(os.Mkdir(e.Getenv("HOME"), 0o700), badModules(filepath.Join(e.WorkDir, "bad")))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": jsonMember, "keep": keep, "start": start, "signal": signalProcess, "ends": ends,
			"says": says, "post": post, "build": build, "keypair": keypair, "sign": sign, "sql": execSQL, "normalize": normalize,
			"webhook": setWebhook, "posted": posted, "expand": expand, "until": until, "normalize-ages": normalizeAges,
		},
	})
}

// badModules writes the modules of bad/ to dir.
func badModules(dir string) error {
	errs := []error{os.Mkdir(dir, 0o700)}
	for name, change := range map[string]func(m *wasmtest.Module){
		"abi": func(m *wasmtest.Module) {
			m.Funcs[0].Body = wasmtest.Code(wasmtest.SetOutput(`{"abi":7,"name":"test","version":"0","tools":[]}`), wasmtest.I32(0))
		},
		"exports": func(m *wasmtest.Module) { m.Funcs = m.Funcs[:2] },
		"wasi":    func(m *wasmtest.Module) { m.Imports[0].Module = "wasi_snapshot_preview1" },
		"tools":   func(*wasmtest.Module) {},
		"other": func(m *wasmtest.Module) {
			m.Funcs[0].Body = wasmtest.Code(wasmtest.SetOutput(`{"abi":1,"name":"test","version":"0","stateVersion":1,"resumes":[1,1],`+
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
	want, tick := regexp.MustCompile(args[0]), time.NewTicker(pollInterval)
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
		ts.Fatalf("standard output is not JSON")
	}
	if got := gjson.Get(doc, args[0]).String(); got != args[1] {
		ts.Fatalf("%s is %q, want %q", args[0], got, args[1])
	}
}

func keep(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "keep NAME PATH")
	v := gjson.Get(ts.ReadFile("stdout"), args[1])
	if !v.Exists() {
		ts.Fatalf("standard output has no member %s", args[1])
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

type replacement struct {
	pattern *regexp.Regexp
	text    string
}

// varying replaces values that differ between executions of a script: times, ports, folders
// and ids, and the padding that depends on them.
var varying = []replacement{
	{regexp.MustCompile(`(?m)^parley: waiting .*\n`), ""}, // printed only on a slow machine
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

func normalize(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "normalize FILE")
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("SAMPLE"), "$SAMPLE")
	for _, r := range varying {
		text = r.pattern.ReplaceAllString(text, r.text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// ages replaces ages of old rows, which change every day.
var ages = []replacement{
	{regexp.MustCompile(`\b\d+d ago\b`), "long ago"},
	{regexp.MustCompile(`\b\d{3,}h\d+m[\d.]+s\b`), "long"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}

func normalizeAges(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "normalize-ages FILE")
	text := ts.ReadFile("stdout")
	for _, r := range ages {
		text = r.pattern.ReplaceAllString(text, r.text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
