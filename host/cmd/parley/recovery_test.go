package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestServeKilledDuringRun kills the gateway during each run of a flow in turn. The next
// gateway must retry the run, and the flow must neither lose nor repeat a reply.
func TestServeKilledDuringRun(t *testing.T) {
	script := []struct{ prompt, answer string }{
		{"hello agent:ops:main", "first"}, {"first", "second"}, {"second", "third"}, {"An exchange with another agent is over", "ANNOUNCE_SKIP"},
	}
	for killed := range script {
		t.Run(fmt.Sprintf("killed at run %d", killed+1), func(t *testing.T) {
			fx := newFixture(t, 2)
			gateway := fx.serve()
			c := fx.call("agent:ops:main", `,"timeoutSeconds":0`)
			if r := c.result(t); r.Get("status").Str != "accepted" {
				t.Errorf("result is %s", r.Raw)
			}
			for i, s := range script {
				fx.expect(s.prompt)
				if i == killed {
					fx.kill(gateway)
					gateway = fx.serve()
					fx.expect(s.prompt)
				}
				fx.answer <- s.answer
			}
			all := fx.flow()
			if note := all.Get("flow.note").Str; !strings.HasPrefix(note, "done: 2 turns") {
				t.Errorf("the flow's note is %q, want done with 2 turns", note)
			}
			for i, r := range all.Get("runs").Array() {
				run := len(script) - 1 - i
				attempts := int64(1)
				if run == killed {
					attempts = 2
				}
				if r.Get("status").Str != "done" || r.Get("attempt").Int() != attempts || r.Get("reply").Str != script[run].answer {
					t.Errorf("run %d is %s after %s attempts: %s", run+1, r.Get("status"), r.Get("attempt"), r.Get("reply"))
				}
			}
			if n := all.Get("runs.#").Int(); n != int64(len(script)) {
				t.Errorf("%d runs, want %d", n, len(script))
			}
		})
	}
}

// TestCallTakesOver kills the owner while a call waits. The call must become the owner,
// resume its flow, and wait until the flow has finished.
func TestCallTakesOver(t *testing.T) {
	fx := newFixture(t, 1)
	gateway := fx.serve()
	c := fx.call("agent:ops:main", `,"announce":"none"`)
	fx.expect("hello")
	fx.kill(gateway)
	fx.expect("hello")
	if pid := ownerPID(t, fx.dir); pid != c.Process.Pid {
		t.Errorf("the owner is %d, want the call, %d", pid, c.Process.Pid)
	}
	fx.answer <- "here you are"
	if r := c.result(t); r.Get("reply").Str != "here you are" {
		t.Errorf("result is %s", r.Raw)
	}
	fx.expect("here you are")
	fx.answer <- "REPLY_SKIP"
	if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "parley: done: 1 turn") {
		t.Errorf("%v: %s", err, &c.stderr)
	}
}

// TestServeShutdownWaitsForRun checks that a gateway lets a running agent finish at
// SIGTERM, and that a waiting call gets its answer from the next owner.
func TestServeShutdownWaitsForRun(t *testing.T) {
	fx := newFixture(t, 0)
	gateway := fx.serve()
	c := fx.call("agent:ops:main", `,"announce":"none"`)
	fx.expect("hello")
	if err := gateway.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitShutdown(t, fx.dir) // the gateway has closed the socket and disconnected waiting clients
	fx.answer <- "in time"
	if err := gateway.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
	if r := c.result(t); r.Get("reply").Str != "in time" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	if attempt := fx.flow().Get("runs.0.attempt").Int(); attempt != 1 {
		t.Errorf("%d attempts, want 1", attempt)
	}
}

// TestCallLeavesFlow checks that a call leaves its flow to the next owner after an
// interrupt, and with --detach immediately.
func TestCallLeavesFlow(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		fx := newFixture(t, 1)
		c := fx.call("agent:ops:main", `,"announce":"none"`)
		fx.expect("hello")
		fx.answer <- "first"
		if r := c.result(t); r.Get("reply").Str != "first" {
			t.Errorf("result is %s", r.Raw)
		}
		fx.expect("first")
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		waitShutdown(t, fx.dir)
		fx.answer <- "REPLY_SKIP" // the running agent may finish
		if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "has not finished (turn 1 of 1: waiting for agent:main:main): it continues under the next owner of the database, such as parley serve") {
			t.Errorf("%v: %s", err, &c.stderr)
		}
		fx.serve()
		all := fx.flow()
		if all.Get("runs.#").Int() != 2 || !strings.HasPrefix(all.Get("flow.note").Str, "done: 1 turn") {
			t.Errorf("the flow is %s", all.Raw)
		}
	})
	t.Run("detached", func(t *testing.T) {
		fx := newFixture(t, 0)
		c := fx.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`, "--detach")
		if r := c.result(t); r.Get("status").Str != "accepted" {
			t.Errorf("result is %s", r.Raw)
		}
		go func() { // the run may have started already
			for {
				select {
				case <-fx.asked:
					fx.answer <- "late"
				case <-t.Context().Done():
					return
				}
			}
		}()
		if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "has not finished (waiting for agent:ops:main): it continues under the next owner") {
			t.Errorf("%v: %s", err, &c.stderr)
		}
		fx.serve()
		if all := fx.flow(); all.Get("runs.0.reply").Str != "late" {
			t.Errorf("the flow is %s", all.Raw)
		}
	})
}

// TestOwnerWaitsForOtherCall starts two calls at the same time. The call that owns the
// database must not exit before the other call has its answer.
func TestOwnerWaitsForOtherCall(t *testing.T) {
	fx := newFixture(t, 0)
	first := fx.call("agent:ops:main", `,"announce":"none"`)
	fx.expect("hello agent:ops:main")
	second := fx.call("agent:research:main", `,"announce":"none"`)
	fx.expect("hello agent:research:main")
	fx.answer <- "one"
	fx.answer <- "two"
	for _, c := range []*callProcess{first, second} {
		if r := c.result(t); r.Get("status").Str != "ok" {
			t.Errorf("result is %s", r.Raw)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %s", err, &c.stderr)
		}
	}
}
