package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// alive returns the processes that announced themselves in a folder and live. A
// number that another process has got since does not count.
func alive(left string) ([]int, error) {
	files, err := filepath.Glob(filepath.Join(left, "*.pid"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".pid"))
		if err != nil {
			return nil, err
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), "\x00agent\x00"+left+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// patience is how long the processes of a dead gateway may take to end. Their
// supervisor gives them two seconds before it kills them.
const patience = 20 * time.Second

// gone waits until no process of the command agent is alive. It is a problem when
// one stays.
func (e *exchange) gone(ctx context.Context) error {
	deadline := time.Now().Add(patience)
	for {
		pids, err := alive(e.place.left())
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			e.fail("processes %v of an attempt that is over are still alive", pids)
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// sweep kills what a problem has left.
func (e *exchange) sweep() error {
	pids, err := alive(e.place.left())
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // unless it has just ended
	}
	return err
}

// strangers fails when a program met one of an earlier attempt: that one goes
// before the next begins.
func (e *exchange) strangers() error {
	files, err := filepath.Glob(filepath.Join(e.place.left(), "*.met"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		e.fail("%s, alive when it began", text)
	}
	return err
}

// pause is the time between two looks at something that another process does.
func pause(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
