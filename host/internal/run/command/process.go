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

// pipeDelay is how long pipes are waited for that a process holds which escaped.
const pipeDelay = 2 * time.Second

// process is a supervised program, from the host's side.
type process struct {
	identity identity // of the supervisor
	stdout   output
	stderr   tail

	cmd      *exec.Cmd
	control  *os.File      // to the supervisor; its end ends the program
	report   *os.File      // from the supervisor
	patience time.Duration // with the supervisor, from end on

	once     sync.Once
	gone     context.Context // ends when the supervisor has exited
	hasGone  context.CancelFunc
	backstop sync.WaitGroup
}

// start starts the supervisor, which waits for release.
func (a *Agent) start(env, secrets []string, prompt string) (*process, error) {
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

	p := &process{control: control, report: report, patience: a.o.Grace + a.patience}
	p.gone, p.hasGone = context.WithCancel(context.Background())
	p.stdout.limit, p.stdout.exceeded = a.o.MaxOutputBytes, p.end
	p.stderr.secrets = secrets
	p.cmd = a.o.supervisor()
	p.cmd.Args = append(append(p.cmd.Args, a.o.Grace.String()), a.o.Argv...)
	p.cmd.Env, p.cmd.Dir = env, a.o.Dir
	p.cmd.Stdin = strings.NewReader(prompt)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.ExtraFiles = []*os.File{childControl, childReport} // 3 and 4
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.WaitDelay = pipeDelay
	if err := p.cmd.Start(); err != nil {
		p.hasGone()
		control.Close()
		report.Close()
		if _, missing := os.Stat(a.o.Dir); a.o.Dir != "" && missing != nil {
			err = missing // what the kernel blames on the supervisor
		}
		return nil, fmt.Errorf("start the supervisor of %s: %w", a.o.Argv[0], err)
	}
	p.identity, err = identify(p.cmd.Process.Pid)
	if err != nil {
		p.end()
		p.wait()
		return nil, fmt.Errorf("identify the supervisor of %s: %w", a.o.Argv[0], err)
	}
	return p, nil
}

// supervisor returns the command that gets Supervise's arguments. By default it
// is what this process executes, even if the file has been replaced since.
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

// release lets the program start.
func (p *process) release() { _, _ = p.control.Write([]byte{'g'}) }

// end makes the supervisor end the program and itself. A supervisor that does not
// is killed with all that is below it. It may be called at any time and often.
func (p *process) end() {
	p.once.Do(func() {
		p.control.Close()
		if p.gone.Err() != nil {
			return
		}
		p.backstop.Go(func() {
			patience, cancel := context.WithTimeout(p.gone, p.patience)
			defer cancel()
			<-patience.Done()
			if p.gone.Err() == nil {
				_ = p.identity.kill(p.gone)
			}
		})
	})
}

// wait returns how the program ended, when it and all that it started are gone.
func (p *process) wait() *ending {
	awaitExit(p.cmd.Process.Pid)
	killSession(p.cmd.Process.Pid) // nothing, unless the supervisor was killed
	p.hasGone()
	err := p.cmd.Wait()
	p.end()
	p.backstop.Wait()
	defer p.report.Close()

	e := &ending{}
	line, _ := io.ReadAll(io.LimitReader(p.report, maxReport))
	if json.Unmarshal(line, e) != nil {
		e.Cut = true
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

// maxReport is the length of the longest report; a pipe holds as much.
const maxReport = 4 << 10

// ending is the supervisor's report of how a program ended.
type ending struct {
	Failure string `json:"failure,omitempty"` // it could not be started
	Exit    int    `json:"exit,omitempty"`
	Signal  int    `json:"signal,omitempty"` // that killed it
	Cut     bool   `json:"cut,omitempty"`    // it was ended, or never started, because the pipe ended
}

// err is nil if the program ended well.
func (e *ending) err(program, stderr string) error {
	var text string
	switch {
	case e.Failure != "":
		text = e.Failure
	case e.Signal != 0:
		text = "ended by signal: " + syscall.Signal(e.Signal).String()
	case e.Exit != 0:
		text = fmt.Sprintf("exit status %d", e.Exit)
	case e.Cut:
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
