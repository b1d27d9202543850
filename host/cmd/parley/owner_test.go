package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// notes is a standard error that sends each line to a channel.
type notes chan string

func (n notes) Write(b []byte) (int, error) {
	n <- string(b)
	return len(b), nil
}

// ownAsReader makes this process the owner of the fixture's database, as a command that
// only reads does.
func (fx *fixture) ownAsReader() (*gateway.Database, notes) {
	fx.t.Helper()
	lines := make(notes, 16)
	a := &app{
		globals: globals{DB: filepath.Join(fx.dir, "test.db"), Config: filepath.Join(fx.dir, "parley.json5"), OwnerTimeout: time.Minute},
		command: "runs", out: terminal.New(io.Discard, noEnv), err: terminal.New(lines, noEnv), getenv: noEnv, log: slog.New(slog.DiscardHandler),
	}
	o, err := a.options()
	if err != nil {
		fx.t.Fatal(err)
	}
	db, err := gateway.Join(fx.t.Context(), o)
	if err != nil {
		fx.t.Fatal(err)
	}
	return db, lines
}

// TestReaderExecutesClientRuns checks that an owner that only reads executes runs as soon
// as a client needs them, and that it serves clients until it exits after the last run.
func TestReaderExecutesClientRuns(t *testing.T) {
	fx := newFixture(t, 0)
	db, notes := fx.ownAsReader()
	c := fx.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	if r := c.result(t); r.Get("status").Str != "accepted" {
		t.Errorf("result is %s", r.Raw)
	}
	fx.expect("hello")
	closed := make(chan error, 1)
	go func() { closed <- db.Close(t.Context()) }()
	if note := <-notes; note != "parley: waiting for the work of agents in agent:ops:main; interrupt to leave it to the next owner\n" {
		t.Errorf("the note is %q", note)
	}
	if out, err := fx.parley("runs", "--json").Output(); err != nil || gjson.GetBytes(out, "runs.0.status").Str != "running" {
		t.Errorf("runs: %v: %s", err, out)
	}
	fx.answer <- "in the end"
	if err := errors.Join(<-closed, c.Wait()); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	run := fx.flow().Get("runs.0")
	if run.Get("status").Str != "done" || run.Get("attempt").Int() != 1 {
		t.Errorf("the run is %s", run.Raw)
	}
}

// TestWaitFlowStartsWork checks that WaitFlow makes the owner execute the flow, even if an
// earlier owner accepted the call.
func TestWaitFlowStartsWork(t *testing.T) {
	fx := newFixture(t, 0)
	gateway := fx.serve()
	c := fx.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	if r := c.result(t); r.Get("status").Str != "accepted" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	fx.expect("hello")
	fx.kill(gateway)
	db, _ := fx.ownAsReader()
	id := fx.onlyFlow().Get("id").Str
	done := make(chan error, 1)
	go func() {
		_, err := db.WaitFlow(t.Context(), id)
		done <- err
	}()
	fx.expect("hello")
	fx.answer <- "there"
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRefusedCallStartsNoWork checks that a refused call does not start runs of other
// calls, which would use up their attempts.
func TestRefusedCallStartsNoWork(t *testing.T) {
	fx := newFixture(t, 0)
	gateway := fx.serve()
	c := fx.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	if r := c.result(t); r.Get("status").Str != "accepted" {
		t.Errorf("result is %s", r.Raw)
	}
	fx.expect("hello")
	fx.kill(gateway)
	for range 3 {
		out, err := fx.parley("send", "nosuch", "typo").CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "parley: send: ") {
			t.Errorf("%v: %s", err, out)
		}
	}
	out, err := fx.parley("runs", "--json").Output()
	if err != nil || gjson.GetBytes(out, "runs.0.attempt").Int() != 1 {
		t.Errorf("%v: %s", err, out)
	}
	fx.serve()
	fx.expect("hello")
	fx.answer <- "there"
	if run := fx.flow().Get("runs.0"); run.Get("status").Str != "done" || run.Get("attempt").Int() != 2 {
		t.Errorf("the run is %s", run.Raw)
	}
}

// TestConcurrentCallsStartWorkOnce sends several messages at the same time to an owner that
// does not execute work yet. Every message must get its answer.
func TestConcurrentCallsStartWorkOnce(t *testing.T) {
	fx := newFixture(t, 0)
	go func() {
		for {
			select {
			case <-fx.asked:
				fx.answer <- "yes"
			case <-t.Context().Done():
				return
			}
		}
	}()
	db, _ := fx.ownAsReader()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			c := fx.parley("send", "agent:ops:main", fmt.Sprint("hello ", i), "--no-announce")
			if out, err := c.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "yes\n") {
				t.Errorf("send: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClosingOwnerAcceptsCalls checks that an owner that waits for its last run before it
// exits still accepts calls of clients and executes them.
func TestClosingOwnerAcceptsCalls(t *testing.T) {
	fx := newFixture(t, 0)
	db, notes := fx.ownAsReader()
	first := fx.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	first.result(t)
	fx.expect("hello")
	closed := make(chan error, 1)
	go func() { closed <- db.Close(t.Context()) }()
	if note := <-notes; !strings.Contains(note, "agent:ops:main") {
		t.Errorf("note %s", note)
	}
	c := fx.call("agent:research:main", `,"announce":"none"`)
	fx.expect("hello")
	fx.answer <- "quick"
	fx.answer <- "in the end"
	if r := c.result(t); r.Get("status").Str != "ok" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := errors.Join(<-closed, first.Wait(), c.Wait()); err != nil {
		t.Errorf("%v: %s%s", err, &first.stderr, &c.stderr)
	}
}
