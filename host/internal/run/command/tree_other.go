//go:build unix && !linux

package command

import (
	"context"
	"syscall"

	"golang.org/x/sys/unix"
)

// killBelow kills the program's process group. Without /proc, other descendants cannot
// be found.
func killBelow(_, program int) (int, error) {
	_ = unix.Kill(-program, unix.SIGKILL)
	return 0, nil
}

func killSession(int) {}

// identify returns an identity that matches no process.
func identify(int) (identity, error) { return identity{}, nil }

// kill does nothing: a supervisor exits by itself when its host has died.
func (id *identity) kill(context.Context) error { return nil }

func awaitExit(int) {}

func adopt() error { return nil }

func programAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
