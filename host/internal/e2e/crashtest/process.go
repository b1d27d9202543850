package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// order is where a child is to halt, and how.
type order struct {
	at     string // see points
	after  bool
	stop   bool
	asleep bool
}

func (o *order) String() string {
	side := "before"
	if o.after {
		side = "after"
	}
	return side + " point " + o.at
}

// limit is how long a child may take. The longest sleep past a lease.
const limit = time.Minute

// process is a child, from its parent's side.
type process struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	name   string
	trace  string
	ctx    context.Context // ends when it takes too long
	cancel context.CancelFunc
}

// start starts a child under a name of its own, which makes a call.
func (p *place) start(ctx context.Context, name string, its call, o *order) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(its.args())
	if err != nil {
		return nil, err
	}
	c := &process{name: name, trace: p.trace(name)}
	c.ctx, c.cancel = context.WithTimeout(ctx, limit)
	c.cmd = exec.CommandContext(c.ctx, self, "child", "-dir", p.dir, "-trace", name,
		"-caller", its.caller(), "-tool", its.tool(), "-args", string(args), "-at", o.at,
		"-after="+strconv.FormatBool(o.after), "-stop="+strconv.FormatBool(o.stop), "-asleep="+strconv.FormatBool(o.asleep))
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	return c, c.cmd.Start()
}

// wait returns when the child has ended, and whether it was killed.
func (c *process) wait() (killed bool, err error) {
	defer c.cancel()
	err = c.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && c.ctx.Err() == nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true, nil
	}
	switch {
	case err == nil:
		return false, nil
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		return false, fmt.Errorf("the %s gateway was not done after %s: %s", c.name, limit, c.out.Bytes())
	}
	return false, fmt.Errorf("the %s gateway: %w: %s", c.name, err, c.out.Bytes())
}

// kill ends a child, whatever it is at.
func (c *process) kill() {
	_ = c.signal(syscall.SIGKILL)
	_, _ = c.wait()
}

// finish waits for a child that nothing is to kill.
func (c *process) finish() error {
	killed, err := c.wait()
	if killed {
		return fmt.Errorf("the %s gateway did not come to its end: %s", c.name, c.out.Bytes())
	}
	return err
}

// stopped returns when the child has stopped, or false when it has ended without.
func (c *process) stopped() (bool, error) {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return false, err
		case status.Stopped():
			return true, nil
		case status.Exited() && status.ExitStatus() == 0:
			_ = c.cmd.Wait() // for its output; it is known how it ended
			c.cancel()
			return false, nil
		case status.Exited() || status.Signaled():
			_ = c.cmd.Wait()
			c.cancel()
			return false, fmt.Errorf("the %s gateway ended with %#x: %s", c.name, int(status), c.out.Bytes())
		}
	}
}

func (c *process) signal(s syscall.Signal) error {
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// points returns what the child has passed.
func (c *process) points() ([]string, error) {
	text, err := os.ReadFile(c.trace)
	return strings.Fields(string(text)), err
}
