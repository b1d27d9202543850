package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/store/sqlite"
)

// numbered runs an exchange once and counts its commits and outside effects;
// then again for each of them, killed before and after it, and finished by
// another process.
func numbered(ctx context.Context, dir, receiver, agent string, onlyPosts bool) (*tally, error) {
	t := &tally{}
	o := newOutside(0)
	defer o.server.Close()
	first := &place{dir: filepath.Join(dir, "count"), receiver: receiver, agent: agent}
	killed, err := t.exchange(ctx, first, o, 0, false)
	if err != nil || killed {
		return nil, errors.Join(fmt.Errorf("the exchange without a kill: killed %v", killed), err)
	}
	trace, err := os.ReadFile(filepath.Join(first.dir, "trace"))
	if err != nil {
		return nil, err
	}
	points := strings.Fields(string(trace)) // number, what, number, what …
	total, kills := len(points)/2, 0
	for n := 1; n <= total; n++ {
		if what := points[2*n-1]; onlyPosts && what != "post" {
			continue
		}
		for _, after := range []bool{false, true} {
			o := newOutside(0)
			p := &place{dir: filepath.Join(dir, fmt.Sprintf("%d-%v", n, after)), receiver: receiver, agent: agent}
			killed, err := t.exchange(ctx, p, o, n, after)
			o.server.Close()
			if err != nil {
				return nil, fmt.Errorf("point %d, after %v: %w", n, after, err)
			}
			if killed {
				kills++
			}
			if err := os.RemoveAll(p.dir); err != nil {
				return nil, err
			}
		}
	}
	if agent == "cmd" {
		o := newOutside(0)
		p := &place{dir: filepath.Join(dir, "working"), receiver: receiver, agent: agent, think: "300ms"}
		_, err := t.exchange(ctx, p, o, 0, false)
		if o.server.Close(); err != nil {
			return nil, fmt.Errorf("killed while the command was at work: %w", err)
		}
		kills++
	}
	fmt.Printf("%-8s %-8s %3d points, %3d kills, %d second attempts, %d posted again, %d seen twice, %d problems\n",
		receiver, agent, total, kills, t.attempts, t.reposts, t.repeats, len(t.problems))
	return t, nil
}

// exchange runs one, with a kill unless n is 0, and verifies how it ended.
func (t *tally) exchange(ctx context.Context, p *place, o *outside, n int, after bool) (killed bool, err error) {
	if err := p.make(ctx, o, 1, 2); err != nil {
		return false, err
	}
	first := func() (bool, error) { return p.run(ctx, n, after) }
	if p.think != "" {
		first = func() (bool, error) { return p.interrupt(ctx) }
	}
	if killed, err = first(); err != nil {
		return killed, err
	}
	if killed {
		// The caller comes again with its call id, as one that lost its connection.
		if again, err := p.run(ctx, 0, false); err != nil || again {
			return killed, errors.Join(errors.New("the second process did not finish"), err)
		}
	}
	if err := p.gone(ctx); err != nil {
		return killed, err
	}
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return killed, err
	}
	f, err := only(ctx, db)
	if err == nil {
		err = t.verify(ctx, db, f, o, p.receiver, "#x#", 2)
	}
	return killed, errors.Join(err, db.Close())
}

// interrupt runs a child and kills it while its command is at work.
func (p *place) interrupt(ctx context.Context) (killed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, out, err := p.child(ctx, 0, false)
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the command was never at work: %w: %s", err, out.Bytes())
		case <-time.After(time.Millisecond):
		}
		if files, err := filepath.Glob(filepath.Join(p.left(), "*.pid")); err != nil {
			return false, err
		} else if len(files) > 0 {
			err := cmd.Process.Kill()
			<-ended
			return err == nil, err
		}
	}
}

// child is the command that runs one.
func (p *place) child(ctx context.Context, kill int, after bool) (*exec.Cmd, *bytes.Buffer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, "child", "-dir", p.dir, "-agent", p.agent, "-kill", strconv.Itoa(kill), "-after="+strconv.FormatBool(after))
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out, nil
}

// run runs a child and reports whether it was killed.
func (p *place) run(ctx context.Context, kill int, after bool) (killed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd, out, err := p.child(ctx, kill, after)
	if err != nil {
		return false, err
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %s", err, out.Bytes())
	}
	return false, nil
}

// gone waits until no process of the command agent is alive, and fails when one
// stays.
func (p *place) gone(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(p.left(), "*.pid"))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(20 * time.Second)
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".pid"))
		if err != nil {
			return err
		}
		for alive(pid) {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d of an attempt is still alive", pid)
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// alive reports whether the process exists and is still this program.
func alive(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), "\x00agent\x00")
}
