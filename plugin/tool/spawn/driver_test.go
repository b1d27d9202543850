package spawn

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
)

const (
	acceptedAt = 1_700_000_000_000
	startedAt  = acceptedAt + 1_000 // of every run
	endedAt    = acceptedAt + 6_000
	now        = acceptedAt + 6_100 // of every further step
	main       = "agent:main:main"
	child      = "agent:main:subagent:1"
)

var (
	mainCaller = abi.Caller{SessionKey: main, AgentID: "main", Channel: "telegram", To: "7"}
	operator   = abi.Caller{Operator: true}
)

// driver plays a flow as a host does: it runs steps and keeps the state.
type driver struct {
	t      *testing.T
	store  *guesttest.Store
	work   *guesttest.Work
	config string
	caller abi.Caller

	now   int64
	step  int
	last  *abi.StepResult // of the newest step that did not fail
	state []byte
}

func drive(t *testing.T, caller abi.Caller) *driver {
	work := &guesttest.Work{Parent: caller.SessionKey, Status: map[string]*abi.Run{}, Refuse: map[string]*abi.Error{}}
	return &driver{t: t, caller: caller, now: now, work: work, store: &guesttest.Store{
		Work: work, Messages: map[string][]abi.Message{},
		Sessions: []abi.Session{{Key: main, SessionID: "s-main", UpdatedAt: 9, LastChannel: "telegram", LastTo: "7"}},
	}}
}

// row returns a stored session.
func (d *driver) row(key string) *abi.Session {
	for i := range d.store.Sessions {
		if d.store.Sessions[i].Key == key {
			return &d.store.Sessions[i]
		}
	}
	d.t.Fatalf("no session %s", key)
	return nil
}

func (d *driver) remove(key string) {
	for i := range d.store.Sessions {
		if d.store.Sessions[i].Key == key {
			d.store.Sessions = append(d.store.Sessions[:i], d.store.Sessions[i+1:]...)
			return
		}
	}
	d.t.Fatalf("no session %s", key)
}

func (d *driver) input() *guest.Input {
	return &guest.Input{FlowID: "flow-1", Step: int64(d.step), Now: d.now, AcceptedAt: acceptedAt, Caller: d.caller, Config: d.config}
}

func (d *driver) call(args string) error {
	d.t.Helper()
	d.step, d.last, d.state = 1, nil, nil
	d.work.Begin()
	in := d.input()
	in.Now, in.Args = acceptedAt, args
	return d.take(Call(d.store, in))
}

// must makes a call that is to spawn a child.
func (d *driver) must(args string) *driver {
	d.t.Helper()
	if err := d.call(args); err != nil {
		d.t.Fatalf("%s: %v", args, err)
	}
	return d
}

func (d *driver) resume(e *abi.Event) error {
	d.t.Helper()
	d.step++
	d.work.Begin()
	in := d.input()
	in.State, in.Event = string(d.state), e
	return d.take(Resume(d.store, in))
}

// end lets the run that is waited for end.
func (d *driver) end(status, text string) error {
	d.t.Helper()
	if d.last.Wait == nil || d.last.Wait.Run == "" {
		d.t.Fatalf("the flow waits for no run: %s", d.last.Note)
	}
	r := &abi.Run{ID: d.last.Wait.Run, Status: status, StartedAt: startedAt, EndedAt: endedAt}
	if status == abi.RunDone {
		r.Reply = text
	} else {
		r.Error = text
	}
	stored := *r
	d.work.Status[r.ID] = &stored
	return d.resume(&abi.Event{Type: abi.EventRun, Run: r})
}

func (d *driver) ends(status, text string) *driver {
	d.t.Helper()
	if err := d.end(status, text); err != nil {
		d.t.Fatalf("%.100s: %v", text, err)
	}
	return d
}

func (d *driver) replies(texts ...string) *driver {
	d.t.Helper()
	for _, text := range texts {
		d.ends(abi.RunDone, text)
	}
	return d
}

// time lets the time come that the flow waits for.
func (d *driver) time() *driver {
	d.t.Helper()
	if d.last.Wait == nil || d.last.Wait.Until == 0 {
		d.t.Fatalf("the flow waits for no time: %s", d.last.Note)
	}
	d.now = d.last.Wait.Until
	if err := d.resume(&abi.Event{Type: abi.EventTime, At: d.now}); err != nil {
		d.t.Fatal(err)
	}
	return d
}

var outputSchema = sync.OnceValue(func() *jsonschema.Schema {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.SpawnOutput))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spawn", v); err != nil {
		panic(err)
	}
	return c.MustCompile("spawn")
})

// take checks what every step result must be.
func (d *driver) take(r *abi.StepResult, err error) error {
	d.t.Helper()
	if err != nil {
		return err
	}
	d.last, d.state = r, nil
	out := r.AppendJSON(nil)
	if err := jsonstrict.Check(out); err != nil {
		d.t.Fatalf("%v in %s", err, out)
	}
	if len(r.Note) > abi.MaxNote || r.Note == "" && r.Result != nil {
		d.t.Errorf("note of %d bytes: %s", len(r.Note), r.Note)
	}
	if w := r.Wait; w != nil {
		d.state = w.State
		if w.Run == "" && w.Until == 0 || len(w.State) > abi.MaxState {
			d.t.Errorf("wait for %q until %d with a state of %d bytes", w.Run, w.Until, len(w.State))
		}
	}
	if (r.Result != nil) != (d.step == 1) {
		d.t.Errorf("step %d answers %s", d.step, r.Result)
	}
	if r.Result == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Result))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := outputSchema().Validate(v); err != nil {
		d.t.Errorf("%v: %s", err, r.Result)
	}
	return nil
}

func (d *driver) wantNote(want string) *driver {
	d.t.Helper()
	if d.last.Note != want {
		d.t.Errorf("note:\n got %s\nwant %s", d.last.Note, want)
	}
	return d
}

// wantOver checks that the flow has ended.
func (d *driver) wantOver() *driver {
	d.t.Helper()
	if d.last.Wait != nil {
		d.t.Errorf("waits on for %q until %d: %s", d.last.Wait.Run, d.last.Wait.Until, d.last.Note)
	}
	return d
}

// wantRuns checks in which sessions runs were started, on whose behalf, with what
// message and bounds.
func (d *driver) wantRuns(want ...string) *driver {
	d.t.Helper()
	var got []string
	for _, r := range d.work.Runs {
		message, _, _ := strings.Cut(r.Message, "\n")
		if r.NoTools {
			message = "(announce)"
		}
		got = append(got, r.Group+" "+r.Source+" > "+r.SessionKey+": "+message)
		if r.NoTools != (r.TimeoutSeconds == 60) {
			d.t.Errorf("%+v", r)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.t.Errorf("runs:\n got %q\nwant %q", got, want)
	}
	return d
}

func (d *driver) wantSent(want ...abi.SendRequest) *driver {
	d.t.Helper()
	got, _ := json.Marshal(d.work.Sent)
	if exp, _ := json.Marshal(append([]abi.SendRequest(nil), want...)); string(got) != string(exp) {
		d.t.Errorf("sent:\n got %s\nwant %s", got, exp)
	}
	return d
}

// wantRefused checks a failure of the tool or, with step, of the step.
func wantRefused(t *testing.T, err error, step bool, code abi.Code, text string) {
	t.Helper()
	var f *guest.Fault
	if !errors.Is(err, code) || errors.As(err, &f) != step || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v; want %s (of the step: %v) with %q", err, code, step, text)
	}
}
