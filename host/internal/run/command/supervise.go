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

// What the supervisor inherits besides the program's standard files.
const (
	controlFD = 3
	reportFD  = 4
)

// killPause is the time between two looks at what is still there to kill.
const killPause = 10 * time.Millisecond

// Supervise is the supervisor's main function: cmd/parley calls it for the hidden
// command runner-exec, with the arguments that follow, and exits with what it
// returns. args are the grace and the program with its arguments. The standard
// files, the environment and the working directory are the program's.
//
// It must be called from the main function, before anything else starts
// processes: it waits for whatever child there is.
func Supervise(args []string) int {
	// The kernel ends the program when the thread that started it ends.
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

	cut  chan struct{}           // closed when the program is to end
	exit chan syscall.WaitStatus // of the program
	none chan struct{}           // closed when there is no child left
}

func newSupervisor(args []string) (*supervisor, error) {
	for _, fd := range []int{controlFD, reportFD} {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
			return nil, errors.New("this command is for Parley itself, which starts it to run an agent's program")
		}
		unix.CloseOnExec(fd)
	}
	if len(args) < 2 {
		return nil, errors.New("the arguments are the grace and a program")
	}
	grace, err := time.ParseDuration(args[0])
	if err != nil {
		return nil, err
	}
	return &supervisor{
		grace: grace, argv: args[1:],
		control: os.NewFile(controlFD, "control"),
		report:  os.NewFile(reportFD, "report"),
		cut:     make(chan struct{}),
		exit:    make(chan syscall.WaitStatus, 1),
		none:    make(chan struct{}),
	}, nil
}

// supervise returns when everything that the program started is gone.
func (s *supervisor) supervise() *ending {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	if err := adopt(); err != nil {
		return &ending{Failure: "cannot be supervised: " + err.Error()}
	}
	if _, err := io.ReadFull(s.control, make([]byte, 1)); err != nil {
		return &ending{Cut: true}
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
	case <-s.cut:
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

// watch waits for the end of the pipe.
func (s *supervisor) watch() {
	_, _ = io.Copy(io.Discard, s.control)
	close(s.cut)
}

// reap waits for every child: the program, and what lost its parent below here.
func (s *supervisor) reap(program int) {
	defer close(s.none)
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

// endGently asks the program's group to end and gives it the grace.
func (s *supervisor) endGently(pid int, e *ending) {
	e.Cut = true
	_ = unix.Kill(-pid, unix.SIGTERM)
	_ = unix.Kill(-pid, unix.SIGCONT) // a stopped process would not notice
	grace := time.NewTimer(s.grace)
	defer grace.Stop()
	select {
	case status := <-s.exit:
		e.set(status)
	case <-grace.C:
	}
}

// killRest kills until nothing is left. A child is only gone when reap has seen
// it, and its children are then children of this process.
func (s *supervisor) killRest(pid int) {
	for pause := time.Duration(0); ; pause = killPause {
		select {
		case <-s.none:
			return
		case <-time.After(pause):
		}
		_, _ = killBelow(os.Getpid(), pid) // an error may pass: it is tried again
	}
}

func (e *ending) set(status syscall.WaitStatus) {
	if status.Signaled() {
		e.Signal = int(status.Signal())
		return
	}
	e.Exit = status.ExitStatus()
}
