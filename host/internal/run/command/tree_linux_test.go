package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// Programs that start processes which are hard to kill. Each process writes its
// PID to $FIFO when it is ready.
const (
	say      = `say() { echo "$1" >"$FIFO"; }; `
	stubborn = `trap "" TERM HUP INT; echo $$ >"$FIFO"; while :; do sleep 1000; done`
	inGroup  = `sh -c '` + stubborn + `' & `
	inOwn    = `setsid sh -c '` + stubborn + `' & `
	orphan   = `(setsid sh -c '` + stubborn + `' &) ; `
	nested   = `setsid sh -c 'setsid sh -c "trap \"\" TERM; echo \$\$ >\$FIFO; sleep 1000" & echo $$ >"$FIFO"; wait' & `
	hang     = `say $$; while :; do sleep 1000; done`
)

// proc is a process that a test watches.
type proc struct {
	pid string
	fd  int
}

// watch opens a process, which may have exited already.
func watch(t *testing.T, pid string) *proc {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if errors.Is(err, unix.ESRCH) {
		return &proc{pid, -1}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return &proc{pid, fd}
}

// ended waits until the process has exited, for at most timeout milliseconds (-1: no
// limit).
func (w *proc) ended(t *testing.T, timeout int) bool {
	t.Helper()
	if w.fd < 0 {
		return true
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}, timeout)
		if err == nil {
			return n == 1
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

func wantGone(t *testing.T, all []*proc) {
	t.Helper()
	for i, w := range all {
		if !w.ended(t, 0) {
			t.Errorf("process %d (%s) is still there", i, w.pid)
		}
	}
}

// started waits until n processes are ready and returns them.
func (f *fifo) started(t *testing.T, n int) []*proc {
	t.Helper()
	var all []*proc
	for range n {
		all = append(all, watch(t, f.line(t)))
	}
	return all
}

var trees = map[string]struct {
	script string
	of     int // number of processes that report
}{
	"alone":          {hang, 1},
	"ignoresTERM":    {stubborn, 1},
	"grandchild":     {inGroup + hang, 2},
	"ownSession":     {inOwn + hang, 2},
	"orphan":         {orphan + hang, 2},
	"nestedSessions": {nested + hang, 3},
	"all":            {inGroup + inOwn + orphan + nested + hang, 6},
}

// All processes that a program started are gone when its cancelled turn returns.
func TestCancelEndsTree(t *testing.T) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			f := newFIFO(t)
			a := open(t, command.Options{Argv: shell(say + tree.script), Env: map[string]string{"FIFO": f.path}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all []*proc
			go func() {
				all = f.started(t, tree.of)
				cancel()
			}()
			if _, err := a.Run(ctx, turn()); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			wantGone(t, all)
		})
	}
}

// A program can exit cleanly after SIGTERM, even if it was stopped.
func TestGrace(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		f, last := newFIFO(t), filepath.Join(t.TempDir(), "last")
		a := open(t, command.Options{
			Argv:  shell(`trap 'echo bye >"$LAST"; exit 0' TERM; echo $$ >"$FIFO"; sleep 1000 & wait`),
			Env:   map[string]string{"FIFO": f.path, "LAST": last},
			Grace: time.Hour,
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			defer cancel()
			if program := watch(t, f.line(t)); stopped {
				if err := unix.PidfdSendSignal(program.fd, unix.SIGSTOP, nil, 0); err != nil {
					t.Error(err)
				}
			}
		}()
		if _, err := a.Run(ctx, turn()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if said, err := os.ReadFile(last); string(said) != "bye\n" {
			t.Errorf("stopped %v: %q, %v", stopped, said, err)
		}
	}
}

// Processes that a program leaves behind are gone when its answer is returned, even
// if they hold its output open.
func TestAnswerEndsTree(t *testing.T) {
	f, proceed := newFIFO(t), newFIFO(t)
	a := open(t, command.Options{
		Argv: shell(say + inGroup + inOwn + orphan + `read go <"$GO"; echo answer`),
		Env:  map[string]string{"FIFO": f.path, "GO": proceed.path},
	})
	var all []*proc
	go func() {
		all = f.started(t, 3)
		proceed.say(t, "go")
	}()
	if got := run(t, a, turn()); got != "answer" {
		t.Errorf("answer %q", got)
	}
	wantGone(t, all)
}

// A program that kills or stops its supervisor is ended too.
func TestAttackOnSupervisor(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"killed":  {inGroup + `say $$; read go <"$GO"; kill -KILL $PPID; sleep 1000`, "without a report (signal: killed)"},
		"stopped": {inGroup + inOwn + `kill -STOP $PPID; ` + hang, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			f, proceed := newFIFO(t), newFIFO(t)
			a := open(t, command.Options{Argv: shell(say + test.script), Env: map[string]string{"FIFO": f.path, "GO": proceed.path}})
			a.SetExitDelay(20 * time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all []*proc
			go func() {
				all = f.started(t, strings.Count(test.script, stubborn)+1)
				proceed.say(t, "go")
				if name == "stopped" {
					cancel()
				}
			}()
			if _, err := a.Run(ctx, turn()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			wantGone(t, all)
		})
	}
}

// dyingHost is a process that executes one turn of a program.
type dyingHost struct {
	cmd  *exec.Cmd
	left json.RawMessage // the record of the turn's process
}

func startHost(t *testing.T, f *fifo, script string) *dyingHost {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &dyingHost{cmd: exec.Command(self, append([]string{"host"}, shell("FIFO="+f.path+"; export FIFO; "+say+script)...)...)}
	h.cmd.Env = append(os.Environ(), "GORACE="+noExitDelay)
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill(); _ = h.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	h.left = line
	return h
}

func (h *dyingHost) supervisor(t *testing.T) *proc {
	t.Helper()
	var left struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(h.left, &left); err != nil || left.PID == 0 {
		t.Fatalf("left %s: %v", h.left, err)
	}
	return watch(t, strconv.Itoa(left.PID))
}

// When a host is killed, all processes of its turn end.
func TestHostDies(t *testing.T) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			f := newFIFO(t)
			h := startHost(t, f, tree.script)
			all := append(f.started(t, tree.of), h.supervisor(t))
			if err := h.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for _, w := range all {
				w.ended(t, -1)
			}
			// The next host finds no process to kill.
			if err := open(t, command.Options{Argv: []string{"true"}}).Reap(t.Context(), h.left); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stopped program ends with its host too.
func TestHostDiesOfStoppedProgram(t *testing.T) {
	f := newFIFO(t)
	h := startHost(t, f, inGroup+hang)
	all := f.started(t, 2)
	for _, w := range all {
		if err := unix.PidfdSendSignal(w.fd, unix.SIGSTOP, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, w := range append(all, h.supervisor(t)) {
		w.ended(t, -1)
	}
}

// If host and supervisor are killed, the kernel kills the program.
func TestHostAndSupervisorDie(t *testing.T) {
	f := newFIFO(t)
	h := startHost(t, f, "say $$; exec sleep 1000")
	supervisor, all := h.supervisor(t), f.started(t, 1)
	for _, signal := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		if err := unix.PidfdSendSignal(supervisor.fd, signal, nil, 0); err != nil {
			t.Fatal(err)
		}
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	}
	all[0].ended(t, -1)
}

// The program does not inherit the pipes between host and supervisor.
func TestNoPipesInherited(t *testing.T) {
	got := run(t, open(t, command.Options{Argv: shell(`for fd in 0 1 2 3 4 5 6 7; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done`)}), turn())
	if got != "0\n1\n2" {
		t.Errorf("the program has the files %q", got)
	}
}

// The next host kills the processes of a stopped supervisor.
func TestReap(t *testing.T) {
	f := newFIFO(t)
	h := startHost(t, f, inGroup+inOwn+orphan+nested+hang)
	supervisor := h.supervisor(t)
	all := append(f.started(t, 6), supervisor)
	if err := unix.PidfdSendSignal(supervisor.fd, unix.SIGSTOP, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait()
	for _, w := range all {
		if w.ended(t, 0) {
			t.Fatalf("process %s has ended already: the test is void", w.pid)
		}
	}
	if err := open(t, command.Options{Argv: []string{"true"}}).Reap(t.Context(), h.left); err != nil {
		t.Fatal(err)
	}
	wantGone(t, all)
}

// A process that reuses the PID of a recorded one is not killed.
func TestReapReusedPID(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	w := watch(t, strconv.Itoa(cmd.Process.Pid))
	left, restarted, rebooted, err := command.Left(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, command.Options{Argv: []string{"true"}})
	for _, other := range []json.RawMessage{restarted, rebooted} {
		if err := a.Reap(t.Context(), other); err != nil {
			t.Error(err)
		}
		if w.ended(t, 0) {
			t.Fatalf("the record is %s, and the process %s was killed", other, left)
		}
	}
	if err := a.Reap(t.Context(), left); err != nil {
		t.Error(err)
	}
	wantGone(t, []*proc{w})
	for _, odd := range []string{``, `{}`, `[]`, `{"pid":1}`, `{"pid":-1}`} {
		if err := a.Reap(t.Context(), json.RawMessage(odd)); err == nil {
			t.Errorf("%s was accepted as a process", odd)
		}
	}
}

// Concurrent turns do not affect each other's processes.
func TestConcurrentTurns(t *testing.T) {
	f := newFIFO(t)
	stays := open(t, command.Options{Argv: shell(say + hang), Env: map[string]string{"FIFO": f.path}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := stays.Run(ctx, runnertest.NewSession().Turn("hello"))
		ended <- err
	}()
	all := f.started(t, 1)
	if got := run(t, open(t, command.Options{Argv: shell(`sleep 1000 & echo answer`)}), turn()); got != "answer" {
		t.Errorf("answer %q", got)
	}
	if all[0].ended(t, 0) {
		t.Error("the end of a turn ended another turn")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantGone(t, all)
}
