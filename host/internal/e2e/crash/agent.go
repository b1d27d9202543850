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

// Behaviours of a process of the command agent.
const (
	agentAnswers    = "answers"
	agentHangs      = "hangs"      // the first process of a trial never ends, the others answer
	agentDescendant = "descendant" // of a process that hangs
)

// hangingProcesses is the number of processes of an agent that hangs, including itself.
const hangingProcesses = 3

// commandAgent is the command of an agent. It records its process id and token in a folder,
// together with the ids of earlier agents' processes that are still alive, and replies.
func commandAgent(behaviour, folder string) error {
	if behaviour == agentDescendant {
		return hang(folder)
	}
	others, err := alive(folder)
	if err != nil {
		return err
	}
	name := filepath.Join(folder, fmt.Sprint(os.Getpid()))
	if len(others) > 0 {
		err = os.WriteFile(name+".overlap", fmt.Appendf(nil, "attempt %s started while processes %v of earlier attempts were alive", os.Getenv("PARLEY_ATTEMPT"), others), 0o600)
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
	if err := recordPID(folder); err != nil {
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
	fmt.Println(reply(message))
	return nil
}

// firstToHang reports whether this is the first process of the trial to call it.
func firstToHang(folder string) bool {
	f, err := os.OpenFile(filepath.Join(folder, agentHangs), os.O_CREATE|os.O_EXCL, 0o600)
	return err == nil && f.Close() == nil
}

// startDescendants starts one process in this process's group, and one in a new session.
func startDescendants(folder string) error {
	self, err := os.Executable()
	for _, newSession := range []bool{false, true} {
		cmd := exec.Command(self, roleAgent, agentDescendant, folder)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: newSession}
		err = errors.Join(err, cmd.Start())
	}
	return err
}

// hang never returns. It ignores the signals that usually end a process.
func hang(folder string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if err := recordPID(folder); err != nil {
		return err
	}
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2) // otherwise the runtime reports a deadlock
	<-never
	return nil
}

// recordPID records the process id in the folder.
func recordPID(folder string) error {
	return os.WriteFile(filepath.Join(folder, fmt.Sprint(os.Getpid())+".pid"), nil, 0o600)
}

// alive returns the recorded processes of a folder that are alive. It ignores a
// process that reuses a recorded id.
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

// agentLimit is the time in which the agents of a killed gateway must end. Their supervisor
// kills them after two seconds.
const agentLimit = 20 * time.Second

// waitForAgentExit waits until no process of the command agent is alive. It adds a problem
// if one is still alive after agentLimit.
func (t *trial) waitForAgentExit(ctx context.Context) error {
	deadline := time.Now().Add(agentLimit)
	for {
		pids, err := alive(t.agents())
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			t.Fail("processes %v of an ended attempt are still alive", pids)
			return nil
		}
		if err := e2e.Pause(ctx); err != nil {
			return err
		}
	}
}

// killAgents kills the agent processes that are still alive.
func (t *trial) killAgents() error {
	pids, err := alive(t.agents())
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has just ended
	}
	return err
}

// checkOverlap adds a problem for each agent that started while an agent of an earlier
// attempt was alive.
func (t *trial) checkOverlap() error {
	files, err := filepath.Glob(filepath.Join(t.agents(), "*.overlap"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		t.Fail("%s", text)
	}
	return err
}
