package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a started program, which can be killed, stopped and continued. Only one
// goroutine at a time may wait for it.
type Process struct {
	name   string
	cmd    *exec.Cmd
	ended  bool         // was waited for
	log    bytes.Buffer // complete when the process has ended
	ctx    context.Context
	cancel context.CancelFunc
}

// StartProcess starts a program. If the process has not ended after the limit, it is
// killed and Wait fails.
func StartProcess(ctx context.Context, name string, limit time.Duration, program string, args ...string) (*Process, error) {
	p := &Process{name: name}
	p.ctx, p.cancel = context.WithTimeout(ctx, limit)
	p.cmd = exec.CommandContext(p.ctx, program, args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	return p, p.cmd.Start()
}

// Wait blocks until the process has ended, and reports whether SIGKILL ended it. It
// fails if the process ended in any other way without success.
func (p *Process) Wait() (killed bool, err error) {
	defer p.cancel()
	err = p.reap()
	var exit *exec.ExitError
	switch {
	case err != nil && errors.Is(p.ctx.Err(), context.DeadlineExceeded):
		err = p.ctx.Err()
	case p.ctx.Err() == nil && errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true, nil
	}
	return false, p.failure(err)
}

// Finish waits until the process has ended. It fails if the process was killed.
func (p *Process) Finish() error {
	killed, err := p.Wait()
	if killed {
		err = p.failure(errors.New("was killed"))
	}
	return err
}

func (p *Process) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the %s process: %w: %s", p.name, err, p.log.Bytes())
}

func (p *Process) reap() error {
	p.ended = true
	return p.cmd.Wait()
}

// Kill kills the process and waits for its end. It does nothing if the process has
// ended.
func (p *Process) Kill() error {
	if p.ended {
		return nil
	}
	err := p.Signal(syscall.SIGKILL)
	_, _ = p.Wait()
	return err
}

// Signal sends a signal. It does nothing if the process has ended.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Stopped blocks until SIGSTOP has stopped the process. It returns false if the process
// ended successfully instead.
func (p *Process) Stopped() (bool, error) {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return false, err
		case status.Stopped():
			return true, nil
		}
		defer p.cancel()
		_ = p.reap() // completes the log; the status is known
		if status.Exited() && status.ExitStatus() == 0 {
			return false, nil
		}
		return false, p.failure(fmt.Errorf("wait status %#x", int(status)))
	}
}

// Resident returns the resident memory of a process in bytes.
func Resident(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	size, _, ok := strings.Cut(after, " kB")
	if !ok {
		return 0, errors.New("no VmRSS in /proc")
	}
	kib, err := strconv.Atoi(strings.TrimSpace(size))
	return kib << 10, err
}
