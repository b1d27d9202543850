package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// hang lets the first program of an exchange think longer than anybody waits.
const hang = "hang"

// family is how many processes a program that hangs has, itself included.
const family = 3

// commandAgent is the agent of the kind command: it leaves its process id and its
// token behind, and answers. It also says which of its predecessors it has met.
func commandAgent(args []string) error {
	left := args[0]
	if args[1] == "kin" {
		return linger(left)
	}
	met, err := alive(left)
	if err != nil {
		return err
	}
	name := filepath.Join(left, fmt.Sprint(os.Getpid()))
	if len(met) > 0 {
		err = os.WriteFile(name+".met", fmt.Appendf(nil, "attempt %s met %v", os.Getenv("PARLEY_ATTEMPT"), met), 0o600)
	}
	if err := errors.Join(err, os.WriteFile(name+".token", []byte(os.Getenv("PARLEY_TOKEN")), 0o600)); err != nil {
		return err
	}
	if args[1] == hang && first(left) {
		return stay(left)
	}
	if err := announce(left); err != nil {
		return err
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	message := string(prompt)
	for _, end := range []string{"</context>\n", "</transcript>\n"} {
		if i := strings.LastIndex(message, end); i >= 0 {
			message = message[i+len(end):]
		}
	}
	fmt.Println(answer(message))
	return nil
}

// first reports whether no program of this exchange has hung before.
func first(left string) bool {
	f, err := os.OpenFile(filepath.Join(left, hang), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// stay does what makes a program hard to get rid of: it heeds no signal that can
// be ignored, and has a child in its process group and one in another session.
func stay(left string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, apart := range []bool{false, true} {
		kin := exec.Command(self, "agent", left, "kin")
		kin.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
		if err := kin.Start(); err != nil {
			return err
		}
	}
	return linger(left)
}

func linger(left string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if err := announce(left); err != nil {
		return err
	}
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2) // or the runtime takes it for a deadlock
	<-never
	return nil
}

// announce leaves the process id behind.
func announce(left string) error {
	return os.WriteFile(filepath.Join(left, fmt.Sprint(os.Getpid())+".pid"), nil, 0o600)
}
