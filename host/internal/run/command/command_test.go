package command_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

const noExitDelay = "atexit_sleep_ms=0"

func open(t *testing.T, o command.Options) *command.Runner {
	t.Helper()
	if o.Grace == 0 {
		o.Grace = 20 * time.Millisecond
	}
	// With the race detector, a supervisor would otherwise wait for a second at its
	// exit.
	env := map[string]string{"GORACE": noExitDelay}
	maps.Copy(env, o.Env)
	o.Env = env
	a, err := command.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func shell(script string) []string { return []string{"sh", "-c", script} }

func run(t *testing.T, a *command.Runner, turn *runner.Turn) string {
	t.Helper()
	out, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	return out.Text
}

func turn() *runner.Turn { return runnertest.NewSession().Turn("hello") }

func TestRunner(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runnertest.Exercise(t, func(t *testing.T, b runnertest.Behaviour) *runnertest.Subject {
		var address string
		hanging, pid := make(chan struct{}), make(chan string, 1)
		if b.Hang {
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				pid <- strings.TrimPrefix(r.URL.Path, "/")
				close(hanging)
			}))
			t.Cleanup(s.Close)
			address = s.URL
		}
		s := &runnertest.Subject{Silent: true, Runner: open(t, command.Options{
			Argv: []string{self, "agent", b.Text, b.Error, b.Tool, b.Args, address},
		})}
		if b.Hang {
			s.Hanging = hanging
			s.AssertStopped = func(t *testing.T) {
				if _, err := os.Stat("/proc/" + <-pid); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the program is still there: %v", err)
				}
			}
		}
		return s
	})
}

func TestPrompt(t *testing.T) {
	s := runnertest.NewSession()
	a := open(t, command.Options{Argv: []string{"cat"}})
	if got := run(t, a, s.Turn("just this")); got != "just this" {
		t.Errorf("prompt %q", got)
	}
	s.Add("user", "one\n</transcript>\n\xff")
	s.AddRaw(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"a","name":"n","arguments":{}}]}`)
	s.AddRaw(`{"role":"toolResult","toolCallId":"a","content":"{}"}`)
	s.AddRaw(`{"role":"assistant","content":"two \"quoted\""}`)
	turn := s.Turn("three\n\nlines \xff")
	turn.Context = "You talk to main.\n</context>\n"
	want := "<context>\nYou talk to main.\n< /context>\n</context>\n\n<transcript>\n" +
		`{"role":"user","text":"one\n\u003c/transcript\u003e\n` + "\uFFFD" + `"}` + "\n" +
		`{"role":"assistant","text":"two \"quoted\""}` + "\n</transcript>\n\nthree\n\nlines \uFFFD"
	if got := run(t, a, turn); got != want {
		t.Errorf("prompt\n%s\nwant\n%s", got, want)
	}
	for configured, want := range map[int]string{1: `{"role":"assistant","text":"two \"quoted\""}`, -1: "three"} {
		got := run(t, open(t, command.Options{Argv: []string{"cat"}, HistoryMessages: configured}), s.Turn("three"))
		got = strings.TrimPrefix(got, "<transcript>\n")
		if first, _, _ := strings.Cut(got, "\n"); first != want {
			t.Errorf("historyMessages %d: %q", configured, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "PARLEY_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	for _, name := range []string{"HOME", "USER", "LANG", "LC_TIME", "TERM", "TMPDIR", "SHELL"} {
		t.Setenv(name, "host's "+name)
	}
	t.Setenv("OPENAI_API_KEY", "a secret")
	t.Setenv("PARLEY_TOKEN", "the host's own")
	a := open(t, command.Options{Argv: []string{"env"}, Env: map[string]string{"LANG": "C", "EXTRA": "a=b\nc"}})
	s := runnertest.NewSession()
	want := []string{
		"EXTRA=a=b", "c", "GORACE=" + noExitDelay, "HOME=host's HOME", "LANG=C", "LC_TIME=host's LC_TIME",
		"PARLEY_ATTEMPT=2", "PARLEY_RUN_ID=run-1", "PARLEY_SESSION_KEY=agent:main:main",
		"PATH=" + os.Getenv("PATH"), "SHELL=host's SHELL", "TERM=host's TERM", "TMPDIR=host's TMPDIR", "USER=host's USER",
	}
	check := func(turn *runner.Turn, want ...string) {
		t.Helper()
		got := strings.Split(run(t, a, turn), "\n")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("environment\n%q\nwant\n%q", got, want)
		}
	}
	turn := s.Retry(s.Turn("hello"))
	check(turn, slices.Clone(want)...) // no gateway
	s.Serve(t)
	url, token := turn.Tools.Access()
	check(turn, append(slices.Clone(want), "PARLEY_URL="+url, "PARLEY_TOKEN="+token)...)
	turn.Tools = nil
	check(turn, slices.Clone(want)...)
	turn.Sandboxed = true
	check(turn, append(slices.Clone(want), "PARLEY_SANDBOXED=1")...)
}

func TestDir(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\npwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := run(t, open(t, command.Options{Argv: []string{"./here"}, Dir: dir}), turn()); got != dir {
		t.Errorf("ran in %q, want %q", got, dir)
	}
}

func TestOutput(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"trimmed":      {`printf '\n  a\n b \n\n'`, "a\n b"},
		"standardErr":  {`echo noise >&2; echo answer`, "answer"},
		"nothing":      {`:`, ""},
		"notUTF8":      {`printf 'a\377b\303'`, "a\uFFFDb\uFFFD"},
		"exactly":      {`head -c 1000 /dev/zero | tr '\0' x`, strings.Repeat("x", 1000)},
		"stdinUnread":  {`exec <&-; echo answer`, "answer"},
		"stdinNotRead": {`echo answer`, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, command.Options{Argv: shell(test.script), MaxOutputBytes: 1000})
			got := run(t, a, runnertest.NewSession().Turn(strings.Repeat("long ", 1<<18)))
			if got != test.want {
				t.Errorf("answer %q, want %q", got, test.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		o    command.Options
		want []string
	}{
		"exitStatus": {command.Options{Argv: shell(`echo answer; echo oops >&2; exit 3`)}, []string{"sh: exit status 3: oops"}},
		"silent":     {command.Options{Argv: shell(`exit 4`)}, []string{"sh: exit status 4"}},
		"signal":     {command.Options{Argv: shell(`kill -9 $$`)}, []string{"sh: ended by signal: killed"}},
		"notUTF8":    {command.Options{Argv: shell(`printf 'a\377' >&2; exit 1`)}, []string{"exit status 1: a\uFFFD"}},
		"missing":    {command.Options{Argv: []string{"no-such-program-here"}}, []string{"no-such-program-here: cannot be started: executable file not found"}},
		"noProgram":  {command.Options{Argv: []string{plain}}, []string{plain + ": cannot be started: permission denied"}},
		"noDir":      {command.Options{Argv: []string{"sh"}, Dir: filepath.Join(dir, "none")}, []string{"sh", filepath.Join(dir, "none"), "no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := open(t, test.o).Run(t.Context(), turn())
			if err == nil {
				t.Fatalf("%+v, want an error", out)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}

// An error shows the end of standard error.
func TestStandardErrorTail(t *testing.T) {
	a := open(t, command.Options{Argv: shell(`echo start >&2; head -c 1000001 /dev/zero | tr '\0' 'x' >&2; echo ' the end' >&2; exit 1`)})
	_, err := a.Run(t.Context(), turn())
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if !strings.HasSuffix(text, "x the end") || strings.Contains(text, "start") || len(text) > 4<<10+100 {
		t.Errorf("%d bytes: %.100s …", len(text), text)
	}
}

func TestTooMuchOutput(t *testing.T) {
	for name, script := range map[string]string{
		"once":    `head -c 100000000 /dev/zero`,
		"endless": `while :; do cat /dev/zero; done`,
		"oneMore": `head -c 1048577 /dev/zero`,
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, command.Options{Argv: shell(script)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := a.Run(t.Context(), turn())
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "printed more than 1048576 bytes") {
				t.Error(err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
				t.Errorf("%d bytes were allocated", got)
			}
		})
	}
}

// The answer is returned when the program exits, not when it closes its output.
func TestExitAfterOutputIsClosed(t *testing.T) {
	f, proceed, done := newFIFO(t), newFIFO(t), filepath.Join(t.TempDir(), "done")
	a := open(t, command.Options{
		Argv: shell(`echo answer; exec >&- 2>&-; echo closed >"$FIFO"; read go <"$GO"; : >"$DONE"`),
		Env:  map[string]string{"FIFO": f.path, "GO": proceed.path, "DONE": done},
	})
	go func() {
		f.line(t)
		proceed.say(t, "go")
	}()
	if got := run(t, a, turn()); got != "answer" {
		t.Errorf("answer %q", got)
	}
	if _, err := os.Stat(done); err != nil {
		t.Error(err)
	}
}

// The supervisor's identity is committed before the program starts; if the commit
// fails, the program does not start.
func TestLeave(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	a := open(t, command.Options{Argv: shell(`: >"$STARTED"`), Env: map[string]string{"STARTED": started}})
	s := runnertest.NewSession()
	s.OnLeave = func(context.Context, any) error { return errors.New("the disk is full") }
	if _, err := a.Run(t.Context(), s.Turn("hello")); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Error(err)
	}
	s.OnLeave = func(context.Context, any) error {
		if _, err := os.Stat(started); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the program was started before its identity was committed: %v", err)
		}
		return nil
	}
	run(t, a, s.Turn("hello"))
	if _, err := os.Stat(started); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]*command.Options{
		"nil":      nil,
		"noArgv":   {},
		"emptyArg": {Argv: []string{""}},
		"nul":      {Argv: []string{"a", "b\x00"}},
		"envName":  {Argv: []string{"a"}, Env: map[string]string{"a=b": ""}},
		"envValue": {Argv: []string{"a"}, Env: map[string]string{"A": "\x00"}},
		"envHosts": {Argv: []string{"a"}, Env: map[string]string{"PARLEY_TOKEN": "mine"}},
		"envBoxed": {Argv: []string{"a"}, Env: map[string]string{"PARLEY_SANDBOXED": "0"}},
	} {
		if _, err := command.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A user who starts the supervisor's command gets an explanation.
func TestSuperviseStartedByUser(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "runner-exec", "1s", "echo", "started").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "this command is internal") || strings.Contains(string(out), "started\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// fifo is a named pipe through which programs and tests communicate.
type fifo struct {
	path string
	file *os.File
}

func newFIFO(t *testing.T) *fifo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &fifo{path, file}
}

// line returns the next line that a program writes.
func (f *fifo) line(t *testing.T) string {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := f.file.Read(b); err != nil {
			t.Errorf("no line from the program: %v", err)
			return ""
		}
		if b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

func (f *fifo) say(t *testing.T, line string) {
	if _, err := f.file.WriteString(line + "\n"); err != nil {
		t.Error(err)
	}
}
