package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pipeDelay is how long wait waits for pipes that an escaped process holds open.
const pipeDelay = 2 * time.Second

// process is a supervised program, as the host sees it.
type process struct {
	identity identity // of the supervisor
	stdout   output
	stderr   tail

	cmd         *exec.Cmd
	control     *os.File      // to the supervisor; closing it ends the program
	report      *os.File      // from the supervisor
	exitTimeout time.Duration // for the supervisor to exit after end

	once     sync.Once
	gone     context.Context // ends when the supervisor has exited
	setGone  context.CancelFunc
	fallback sync.WaitGroup
}

// start starts the supervisor, which then waits for release.
func (rn *Runner) start(env, secrets []string, prompt string) (*process, error) {
	childControl, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childControl.Close()
	report, childReport, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer childReport.Close()

	p := &process{control: control, report: report, exitTimeout: rn.o.Grace + rn.exitDelay}
	p.gone, p.setGone = context.WithCancel(context.Background())
	p.stdout.limit, p.stdout.exceeded = rn.o.MaxOutputBytes, p.end
	p.stderr.secrets = secrets
	p.cmd = rn.o.supervisor()
	p.cmd.Args = append(append(p.cmd.Args, rn.o.Grace.String()), rn.o.Argv...)
	p.cmd.Env, p.cmd.Dir = env, rn.o.Dir
	p.cmd.Stdin = strings.NewReader(prompt)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.ExtraFiles = []*os.File{childControl, childReport} // 3 and 4
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.WaitDelay = pipeDelay
	if err := p.cmd.Start(); err != nil {
		p.setGone()
		control.Close()
		report.Close()
		if _, missing := os.Stat(rn.o.Dir); rn.o.Dir != "" && missing != nil {
			err = missing // the error of Start names the supervisor's path
		}
		return nil, fmt.Errorf("start the supervisor of %s: %w", rn.o.Argv[0], err)
	}
	p.identity, err = identify(p.cmd.Process.Pid)
	if err != nil {
		p.end()
		p.wait()
		return nil, fmt.Errorf("identify the supervisor of %s: %w", rn.o.Argv[0], err)
	}
	return p, nil
}

// supervisor returns the command that calls Supervise. By default it executes this
// process's own file, on Linux even if the file has been replaced.
func (o *Options) supervisor() *exec.Cmd {
	if len(o.Supervisor) > 0 {
		return exec.Command(o.Supervisor[0], o.Supervisor[1:]...)
	}
	self := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		if path, err := os.Executable(); err == nil {
			self = path
		}
	}
	cmd := exec.Command(self, "runner-exec")
	cmd.Args[0] = os.Args[0]
	return cmd
}

// release makes the supervisor start the program.
func (p *process) release() { _, _ = p.control.Write([]byte{'g'}) }

// end makes the supervisor end the program and exit. A supervisor that does not exit
// in time is killed with its descendants. end may be called at any time and
// repeatedly.
func (p *process) end() {
	p.once.Do(func() {
		p.control.Close()
		if p.gone.Err() != nil {
			return
		}
		p.fallback.Go(func() {
			timeout, cancel := context.WithTimeout(p.gone, p.exitTimeout)
			defer cancel()
			<-timeout.Done()
			if p.gone.Err() == nil {
				_ = p.identity.kill(p.gone)
			}
		})
	})
}

// wait waits until the program and all its descendants are gone, and returns how the
// program ended.
func (p *process) wait() *ending {
	awaitExit(p.cmd.Process.Pid)
	killSession(p.cmd.Process.Pid) // finds processes only if the supervisor was killed
	p.setGone()
	err := p.cmd.Wait()
	p.end()
	p.fallback.Wait()
	defer p.report.Close()

	e := &ending{}
	line, _ := io.ReadAll(io.LimitReader(p.report, maxReport))
	if json.Unmarshal(line, e) != nil {
		e.Aborted = true
		e.Failure = fmt.Sprintf("its supervisor ended without a report (%v)", exitText(err))
	}
	return e
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// maxReport is the maximum length of a report; it fits into a pipe's buffer.
const maxReport = 4 << 10

// ending is the supervisor's report of how a program ended.
type ending struct {
	Failure string `json:"failure,omitempty"` // the program could not be started
	Exit    int    `json:"exit,omitempty"`
	Signal  int    `json:"signal,omitempty"` // the signal that killed the program
	Aborted bool   `json:"cut,omitempty"`    // the supervisor ended the program, or did not start it
}

// err returns nil if the program exited with status 0 by itself.
func (e *ending) err(program, stderr string) error {
	var text string
	switch {
	case e.Failure != "":
		text = e.Failure
	case e.Signal != 0:
		text = "ended by signal: " + syscall.Signal(e.Signal).String()
	case e.Exit != 0:
		text = fmt.Sprintf("exit status %d", e.Exit)
	case e.Aborted:
		text = "was ended"
	default:
		return nil
	}
	text = program + ": " + text
	if stderr != "" {
		text += ": " + stderr
	}
	return errors.New(text)
}
