package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stat is a line of /proc/<pid>/stat.
type stat struct {
	pid, parent, session int
	state                byte
	start                uint64 // clock ticks since boot
}

// alive reports whether the process can still execute.
func (s *stat) alive() bool { return s.state != 'Z' && s.state != 'X' && s.state != 'x' }

func readStat(pid int) (s stat, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist // it exited during the read
	}
	if err != nil {
		return s, err
	}
	// The name, in parentheses, may contain any character.
	f := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(f) < 20 {
		return s, fmt.Errorf("/proc/%d/stat: unknown format: %q", pid, raw)
	}
	s.pid, s.state = pid, f[0][0]
	s.parent, err = strconv.Atoi(string(f[1]))
	if err == nil {
		s.session, err = strconv.Atoi(string(f[3]))
	}
	if err == nil {
		s.start, err = strconv.ParseUint(string(f[19]), 10, 64)
	}
	return s, err
}

// processes returns all processes that are not zombies.
func processes() ([]stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case s.alive():
			all = append(all, s)
		}
	}
	return all, nil
}

// below returns the descendants of a process, and the members of its session with
// their descendants.
func below(root int) ([]stat, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := make(map[int][]stat)
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s)
	}
	found := map[int]bool{root: true}
	var list []stat
	collect := func(s stat) {
		if !found[s.pid] {
			found[s.pid] = true
			list = append(list, s)
		}
	}
	for _, s := range all {
		if s.session == root {
			collect(s)
		}
	}
	for _, s := range children[root] {
		collect(s)
	}
	for i := 0; i < len(list); i++ {
		for _, s := range children[list[i].pid] {
			collect(s)
		}
	}
	return list, nil
}

// kill sends SIGKILL to this process, but not to another process that reuses the PID.
func (s *stat) kill() {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) && s.same() {
			_ = unix.Kill(s.pid, unix.SIGKILL)
		}
		return
	}
	defer unix.Close(fd)
	if s.same() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func (s *stat) same() bool {
	now, err := readStat(s.pid)
	return err == nil && now.start == s.start
}

// killBelow sends SIGKILL once to all descendants of a process and members of its
// session, and returns how many there were.
func killBelow(root, _ int) (int, error) {
	list, err := below(root)
	for i := range list {
		list[i].kill()
	}
	return len(list), err
}

// killSession kills the members of the session that an exited process led. The caller
// must not have waited for that process, so that its PID is not reused.
func killSession(leader int) {
	for left := 1; left > 0; {
		if left, _ = killBelow(leader, leader); left > 0 {
			time.Sleep(killPause)
		}
	}
}

// identify returns the identity of a live process.
func identify(pid int) (identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return identity{}, err
	}
	boot, err := bootID()
	return identity{PID: pid, Start: s.start, Boot: boot}, err
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// kill kills the process and its descendants, unless another process reuses the PID.
// It kills the descendants first: without the process they could not be found.
func (id *identity) kill(ctx context.Context) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	for boot == id.Boot {
		s, err := readStat(id.PID)
		if errors.Is(err, fs.ErrNotExist) || err == nil && s.start != id.Start {
			return nil // gone
		}
		if err != nil {
			return err
		}
		left, err := killBelow(id.PID, id.PID)
		switch {
		case err != nil:
			return err
		case left == 0 && !s.alive():
			return nil
		case left == 0:
			s.kill()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(killPause):
		}
	}
	return nil
}

// awaitExit waits for the exit of a child, without reaping it.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// adopt makes this process the parent of orphaned descendants.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func programAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
