package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

// How a process of the command agent behaves.
const (
	agentAnswers    = "answers"
	agentHangs      = "hangs"      // the first of an exchange never ends, the others answer
	agentDescendant = "descendant" // of one that hangs
)

// hangingProcesses is how many processes an agent that hangs has, itself included.
const hangingProcesses = 3

// commandAgent is the agent of the kind command. It leaves its process id and its token in
// a folder, and the names of earlier agents' processes that are still alive, and answers.
func commandAgent(behaviour, folder string) error {
	if behaviour == agentDescendant {
		return hang(folder)
	}
	met, err := alive(folder)
	if err != nil {
		return err
	}
	name := filepath.Join(folder, fmt.Sprint(os.Getpid()))
	if len(met) > 0 {
		err = os.WriteFile(name+".met", fmt.Appendf(nil, "attempt %s met %v", os.Getenv("PARLEY_ATTEMPT"), met), 0o600)
	}
	if err := errors.Join(err, os.WriteFile(name+".token", []byte(os.Getenv("PARLEY_TOKEN")), 0o600)); err != nil {
		return err
	}
	if behaviour == agentHangs && firstToHang(folder) {
		if err := startDescendants(folder); err != nil {
			return err
		}
		return hang(folder)
	}
	if err := announce(folder); err != nil {
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

// firstToHang reports whether no other process of this exchange has hung before.
func firstToHang(folder string) bool {
	f, err := os.OpenFile(filepath.Join(folder, agentHangs), os.O_CREATE|os.O_EXCL, 0o600)
	return err == nil && f.Close() == nil
}

// startDescendants starts a process in this one's process group, and one in another
// session.
func startDescendants(folder string) error {
	self, err := os.Executable()
	for _, apart := range []bool{false, true} {
		cmd := exec.Command(self, roleAgent, agentDescendant, folder)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
		err = errors.Join(err, cmd.Start())
	}
	return err
}

// hang never returns, and ignores every signal that can be ignored.
func hang(folder string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if err := announce(folder); err != nil {
		return err
	}
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2) // or the runtime reports a deadlock
	<-never
	return nil
}

// announce leaves the process id in the folder.
func announce(folder string) error {
	return os.WriteFile(filepath.Join(folder, fmt.Sprint(os.Getpid())+".pid"), nil, 0o600)
}

// alive returns the processes that left their ids in a folder and are alive. Another
// process that has got such an id since does not count.
func alive(folder string) (pids []int, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.pid"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".pid"))
		if err != nil {
			return nil, err
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), "\x00"+roleAgent+"\x00") && strings.HasSuffix(string(line), "\x00"+folder+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// agentLimit is how long the agents of a killed gateway may take to end. Their supervisor
// gives them two seconds before it kills them.
const agentLimit = 20 * time.Second

// agentsGone waits until no process of the command agent is alive. It is a problem when
// one stays.
func (e *exchange) agentsGone(ctx context.Context) error {
	deadline := time.Now().Add(agentLimit)
	for {
		pids, err := alive(e.agents())
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			e.Fail("processes %v of an attempt that has ended are still alive", pids)
			return nil
		}
		if err := e2e.Pause(ctx); err != nil {
			return err
		}
	}
}

// killAgents kills the processes that a problem has left.
func (e *exchange) killAgents() error {
	pids, err := alive(e.agents())
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // unless it has just ended
	}
	return err
}

// agentsNeverMet fails when an agent began while one of an earlier attempt was alive.
func (e *exchange) agentsNeverMet() error {
	files, err := filepath.Glob(filepath.Join(e.agents(), "*.met"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		e.Fail("%s, alive when it began", text)
	}
	return err
}
