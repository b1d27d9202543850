package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A gateway that is killed while an agent answers leaves nothing behind but the
// attempt: the next one tries it again, and no turn is lost or made twice.
func TestSecondServeFinishes(t *testing.T) {
	script := []struct{ asked, answer string }{
		{"hello agent:ops:main", "first"}, {"first", "second"}, {"second", "third"}, {"An exchange with another agent is over", "ANNOUNCE_SKIP"},
	}
	for killed := range script {
		t.Run(fmt.Sprintf("killed at run %d", killed+1), func(t *testing.T) {
			w := newWorld(t, 2)
			gateway := w.serve()
			c := w.call("agent:ops:main", `,"timeoutSeconds":0`)
			if r := c.result(t); r.Get("status").Str != "accepted" {
				t.Errorf("result is %s", r.Raw)
			}
			for i, s := range script {
				w.question(s.asked)
				if i == killed {
					w.kill(gateway)
					gateway = w.serve()
					w.question(s.asked)
				}
				w.answer <- s.answer
			}
			all := w.flow()
			if note := all.Get("flow.note").Str; !strings.HasPrefix(note, "done: 2 turns") {
				t.Errorf("the flow ended: %s", note)
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
				t.Errorf("%d runs", n)
			}
		})
	}
}

// A call whose owner is killed while it waits becomes the owner, picks its call
// up, and stays until the exchange is over.
func TestCallOutlivesItsOwner(t *testing.T) {
	w := newWorld(t, 1)
	gateway := w.serve()
	c := w.call("agent:ops:main", `,"announce":"none"`)
	w.question("hello")
	w.kill(gateway)
	w.question("hello")
	if pid := ownerPID(t, w.dir); pid != c.Process.Pid {
		t.Errorf("the owner is %d, want the call, %d", pid, c.Process.Pid)
	}
	w.answer <- "here you are"
	if r := c.result(t); r.Get("reply").Str != "here you are" {
		t.Errorf("result is %s", r.Raw)
	}
	w.question("here you are")
	w.answer <- "REPLY_SKIP"
	if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "parley: done: 1 turn") {
		t.Errorf("%v: %s", err, &c.stderr)
	}
}

// A gateway that is told to end lets the agent at work finish; who waits for it
// goes to the next owner.
func TestServeEndsGracefully(t *testing.T) {
	w := newWorld(t, 0)
	gateway := w.serve()
	c := w.call("agent:ops:main", `,"announce":"none"`)
	w.question("hello")
	if err := gateway.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	untilEnding(t, w.dir) // its socket is gone, and those who wait have been sent away
	w.answer <- "in time"
	if err := gateway.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
	if r := c.result(t); r.Get("reply").Str != "in time" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	if attempt := w.flow().Get("runs.0.attempt").Int(); attempt != 1 {
		t.Errorf("%d attempts", attempt)
	}
}

// A call that stays leaves the rest to the next owner when it is interrupted, and
// at once with --detach.
func TestCallLeaves(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		w := newWorld(t, 1)
		c := w.call("agent:ops:main", `,"announce":"none"`)
		w.question("hello")
		w.answer <- "first"
		if r := c.result(t); r.Get("reply").Str != "first" {
			t.Errorf("result is %s", r.Raw)
		}
		w.question("first")
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		untilEnding(t, w.dir)
		w.answer <- "REPLY_SKIP" // the agent at work may end
		if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "is not over (turn 1 of 1: waiting for agent:main:main); it goes on with the next owner of the database, such as parley serve") {
			t.Errorf("%v: %s", err, &c.stderr)
		}
		w.serve()
		all := w.flow()
		if all.Get("runs.#").Int() != 2 || !strings.HasPrefix(all.Get("flow.note").Str, "done: 1 turn") {
			t.Errorf("the flow is %s", all.Raw)
		}
	})
	t.Run("detached", func(t *testing.T) {
		w := newWorld(t, 0)
		c := w.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`, "--detach")
		if r := c.result(t); r.Get("status").Str != "accepted" {
			t.Errorf("result is %s", r.Raw)
		}
		go func() { // the run may have begun, or not
			for {
				select {
				case <-w.asked:
					w.answer <- "late"
				case <-t.Context().Done():
					return
				}
			}
		}()
		if err := c.Wait(); err != nil || !strings.Contains(c.stderr.String(), "is not over (waiting for agent:ops:main); it goes on with the next owner") {
			t.Errorf("%v: %s", err, &c.stderr)
		}
		w.serve()
		if all := w.flow(); all.Get("runs.0.reply").Str != "late" {
			t.Errorf("the flow is %s", all.Raw)
		}
	})
}

// Of two calls at the same time one owns the database, and stays until the other
// one has its answer.
func TestCallsStayForEachOther(t *testing.T) {
	w := newWorld(t, 0)
	first := w.call("agent:ops:main", `,"announce":"none"`)
	w.question("hello agent:ops:main")
	second := w.call("agent:research:main", `,"announce":"none"`)
	w.question("hello agent:research:main")
	w.answer <- "one"
	w.answer <- "two"
	for _, c := range []*called{first, second} {
		if r := c.result(t); r.Get("status").Str != "ok" {
			t.Errorf("result is %s", r.Raw)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %s", err, &c.stderr)
		}
	}
}
