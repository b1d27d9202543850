package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// File descriptors that the supervisor inherits besides the program's standard files.
const (
	controlFD = 3
	reportFD  = 4
)

// killPause is the interval between two searches for processes to kill.
const killPause = 10 * time.Millisecond

// Supervise is the supervisor's main function. cmd/parley calls it for the hidden
// command runner-exec, with the arguments after the command, and exits with the
// result. args are the grace period, and the program with its arguments. The program
// inherits the standard files, the environment and the working directory.
//
// Supervise must be called from the main function, before the process starts any
// other child: it waits for all children.
func Supervise(args []string) int {
	// The kernel kills the program when the thread that started it exits.
	runtime.LockOSThread()
	s, err := newSupervisor(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner-exec:", err)
		return 2
	}
	e := s.supervise()
	line, _ := json.Marshal(e)
	if _, err := s.report.Write(line); err != nil {
		return 1
	}
	return 0
}

type supervisor struct {
	grace   time.Duration
	argv    []string
	control *os.File
	report  *os.File

	stop       chan struct{}           // closed when the program must be ended
	exit       chan syscall.WaitStatus // of the program
	noChildren chan struct{}           // closed when no child is left
}

func newSupervisor(args []string) (*supervisor, error) {
	for _, fd := range []int{controlFD, reportFD} {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
			return nil, errors.New("this command is internal: Parley starts it to run an agent's program")
		}
		unix.CloseOnExec(fd)
	}
	if len(args) < 2 {
		return nil, errors.New("the arguments must be the grace period and a program")
	}
	grace, err := time.ParseDuration(args[0])
	if err != nil {
		return nil, err
	}
	return &supervisor{
		grace: grace, argv: args[1:],
		control:    os.NewFile(controlFD, "control"),
		report:     os.NewFile(reportFD, "report"),
		stop:       make(chan struct{}),
		exit:       make(chan syscall.WaitStatus, 1),
		noChildren: make(chan struct{}),
	}, nil
}

// supervise runs the program and returns when all processes that it started are gone.
func (s *supervisor) supervise() *ending {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	if err := adopt(); err != nil {
		return &ending{Failure: "cannot be supervised: " + err.Error()}
	}
	if _, err := io.ReadFull(s.control, make([]byte, 1)); err != nil {
		return &ending{Aborted: true}
	}
	pid, err := s.start()
	if err != nil {
		return &ending{Failure: err.Error()}
	}
	go s.watch()
	go s.reap(pid)

	e := &ending{}
	select {
	case status := <-s.exit:
		e.set(status)
	case <-s.stop:
		s.endGently(pid, e)
	case <-signals:
		s.endGently(pid, e)
	}
	s.killRest(pid)
	return e
}

func (s *supervisor) start() (pid int, err error) {
	path, err := exec.LookPath(s.argv[0])
	if err == nil {
		pid, err = syscall.ForkExec(path, s.argv, &syscall.ProcAttr{
			Env:   os.Environ(),
			Files: []uintptr{0, 1, 2},
			Sys:   programAttr(),
		})
	}
	if err != nil {
		var lookup *exec.Error
		if errors.As(err, &lookup) {
			err = lookup.Err
		}
		return 0, fmt.Errorf("cannot be started: %w", err)
	}
	return pid, nil
}

// watch closes stop when the host's end of the pipe is closed.
func (s *supervisor) watch() {
	_, _ = io.Copy(io.Discard, s.control)
	close(s.stop)
}

// reap waits for every child: the program and the orphans that this process has
// adopted.
func (s *supervisor) reap(program int) {
	defer close(s.noChildren)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			return
		case pid == program:
			s.exit <- syscall.WaitStatus(status)
		}
	}
}

// endGently sends SIGTERM to the program's group and waits for the grace period.
func (s *supervisor) endGently(pid int, e *ending) {
	e.Aborted = true
	_ = unix.Kill(-pid, unix.SIGTERM)
	_ = unix.Kill(-pid, unix.SIGCONT) // a stopped process would not handle SIGTERM
	grace := time.NewTimer(s.grace)
	defer grace.Stop()
	select {
	case status := <-s.exit:
		e.set(status)
	case <-grace.C:
	}
}

// killRest kills until no process is left. A killed process is gone only when reap
// has waited for it; its children are then children of this process.
func (s *supervisor) killRest(pid int) {
	for pause := time.Duration(0); ; pause = killPause {
		select {
		case <-s.noChildren:
			return
		case <-time.After(pause):
		}
		_, _ = killBelow(os.Getpid(), pid) // an error may be transient: retried
	}
}

func (e *ending) set(status syscall.WaitStatus) {
	if status.Signaled() {
		e.Signal = int(status.Signal())
		return
	}
	e.Exit = status.ExitStatus()
}
