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

// said are the lines that a command prints for people.
type said chan string

func (s said) Write(b []byte) (int, error) {
	s <- string(b)
	return len(b), nil
}

// reader makes this process the owner of the world's database, as a command that
// only reads.
func (w *world) reader() (*gateway.Database, said) {
	w.t.Helper()
	notes := make(said, 16)
	a := &app{
		globals: globals{DB: filepath.Join(w.dir, "test.db"), Config: filepath.Join(w.dir, "parley.json5"), OwnerTimeout: time.Minute},
		command: "runs", out: terminal.New(io.Discard, noEnv), err: terminal.New(notes, noEnv), getenv: noEnv, log: slog.New(slog.DiscardHandler),
	}
	o, err := a.locate()
	if err != nil {
		w.t.Fatal(err)
	}
	db, err := gateway.Join(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return db, notes
}

// A command that only reads begins the work when another process needs it. It stays
// as long as an agent is at work, and serves others meanwhile.
func TestReaderWorksForOthers(t *testing.T) {
	w := newWorld(t, 0)
	db, notes := w.reader()
	c := w.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	if r := c.result(t); r.Get("status").Str != "accepted" {
		t.Errorf("result is %s", r.Raw)
	}
	w.question("hello")
	closed := make(chan error, 1)
	go func() { closed <- db.Close(t.Context()) }()
	if note := <-notes; note != "parley: waiting for the work of agents in agent:ops:main; interrupt to leave it to the next owner\n" {
		t.Errorf("it says %q", note)
	}
	if out, err := w.parley("runs", "--json").Output(); err != nil || gjson.GetBytes(out, "runs.0.status").Str != "running" {
		t.Errorf("runs: %v: %s", err, out)
	}
	w.answer <- "in the end"
	if err := errors.Join(<-closed, c.Wait()); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	run := w.flow().Get("runs.0")
	if run.Get("status").Str != "done" || run.Get("attempt").Int() != 1 {
		t.Errorf("the run is %s", run.Raw)
	}
}

// Who waits for a flow needs the work too, whoever has accepted the call.
func TestReaderFinishesForOthers(t *testing.T) {
	w := newWorld(t, 0)
	gateway := w.serve()
	c := w.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	if r := c.result(t); r.Get("status").Str != "accepted" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	w.question("hello")
	w.kill(gateway)
	db, _ := w.reader()
	id := w.onlyFlow().Get("id").Str
	done := make(chan error, 1)
	go func() {
		_, err := db.WaitFlow(t.Context(), id)
		done <- err
	}()
	w.question("hello")
	w.answer <- "there"
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := db.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A call that is refused lets nothing begin: what others have sent is not tried,
// and loses no attempt.
func TestRefusedCallBeginsNothing(t *testing.T) {
	w := newWorld(t, 0)
	gateway := w.serve()
	c := w.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	if r := c.result(t); r.Get("status").Str != "accepted" {
		t.Errorf("result is %s", r.Raw)
	}
	w.question("hello")
	w.kill(gateway)
	for range 3 {
		out, err := w.parley("send", "nosuch", "typo").CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "parley: send: ") {
			t.Errorf("%v: %s", err, out)
		}
	}
	out, err := w.parley("runs", "--json").Output()
	if err != nil || gjson.GetBytes(out, "runs.0.attempt").Int() != 1 {
		t.Errorf("%v: %s", err, out)
	}
	w.serve()
	w.question("hello")
	w.answer <- "there"
	if run := w.flow().Get("runs.0"); run.Get("status").Str != "done" || run.Get("attempt").Int() != 2 {
		t.Errorf("the run is %s", run.Raw)
	}
}

// Requests that come at once begin the work once.
func TestWorkBeginsOnce(t *testing.T) {
	w := newWorld(t, 0)
	go func() {
		for {
			select {
			case <-w.asked:
				w.answer <- "yes"
			case <-t.Context().Done():
				return
			}
		}
	}()
	db, _ := w.reader()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			c := w.parley("send", "agent:ops:main", fmt.Sprint("hello ", i), "--no-announce")
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

// A process that stays for the work that it let begin is an owner like any other:
// what others send meanwhile begins.
func TestOthersAreServedWhileItStays(t *testing.T) {
	w := newWorld(t, 0)
	db, notes := w.reader()
	first := w.call("agent:ops:main", `,"timeoutSeconds":0,"announce":"none"`)
	first.result(t)
	w.question("hello")
	closed := make(chan error, 1)
	go func() { closed <- db.Close(t.Context()) }()
	if note := <-notes; !strings.Contains(note, "agent:ops:main") {
		t.Errorf("note %s", note)
	}
	c := w.call("agent:research:main", `,"announce":"none"`)
	w.question("hello")
	w.answer <- "quick"
	w.answer <- "in the end"
	if r := c.result(t); r.Get("status").Str != "ok" {
		t.Errorf("result is %s", r.Raw)
	}
	if err := errors.Join(<-closed, first.Wait(), c.Wait()); err != nil {
		t.Errorf("%v: %s%s", err, &first.stderr, &c.stderr)
	}
}
