// Package flowtest runs the flows of a tool in tests as a host does: step by step, over a
// store in memory. It checks every step result against the rules of the ABI and the
// tool's result schema.
package flowtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
)

// Times of a flow, in milliseconds.
const (
	AcceptedAt = 1_700_000_000_000
	StartedAt  = AcceptedAt + 1_000 // of every run
	EndedAt    = AcceptedAt + 6_000
	Now        = AcceptedAt + 6_100 // of every further step
)

// Tool is the tool under test.
type Tool struct {
	Call, Resume func(guest.Host, *guest.Input) (*abi.StepResult, error)
	Output       []byte // the schema of its results
}

// Driver runs flows, one after another: it runs each step and keeps the state. Methods
// that return the Driver fail the test if their step or check fails.
type Driver struct {
	Store  *guesttest.Store
	Work   *guesttest.Work
	Config string
	Caller abi.Caller
	Now    int64 // of the next step, except a first step, which is at AcceptedAt

	Last  *abi.StepResult // result of the newest step that did not fail
	State []byte

	t        *testing.T
	tool     Tool
	output   *jsonschema.Schema
	step     int
	answered bool
}

// New returns a Driver over these sessions.
func New(t *testing.T, tool Tool, caller abi.Caller, sessions ...abi.Session) *Driver {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.Output))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("output", v); err != nil {
		t.Fatal(err)
	}
	output, err := c.Compile("output")
	if err != nil {
		t.Fatal(err)
	}
	work := &guesttest.Work{Parent: caller.SessionKey, Status: map[string]*abi.Run{}, Refuse: map[string]*abi.Error{}}
	return &Driver{
		Store: &guesttest.Store{Work: work, Messages: map[string][]abi.Message{}, Sessions: sessions}, Work: work,
		Caller: caller, Now: Now, t: t, tool: tool, output: output,
	}
}

func (d *Driver) find(key string) int {
	d.t.Helper()
	i := slices.IndexFunc(d.Store.Sessions, func(s abi.Session) bool { return s.Key == key })
	if i < 0 {
		d.t.Fatalf("no session %s", key)
	}
	return i
}

// Session returns a stored session, which the caller may change.
func (d *Driver) Session(key string) *abi.Session {
	d.t.Helper()
	return &d.Store.Sessions[d.find(key)]
}

// Remove deletes a stored session.
func (d *Driver) Remove(key string) {
	d.t.Helper()
	i := d.find(key)
	d.Store.Sessions = slices.Delete(d.Store.Sessions, i, i+1)
}

// Input returns the input of the next step without its arguments, state and event.
func (d *Driver) Input() *guest.Input {
	return &guest.Input{FlowID: "flow-1", Step: d.step, Now: d.Now, AcceptedAt: AcceptedAt, Caller: d.Caller, Config: d.Config}
}

// Call starts a flow.
func (d *Driver) Call(args string) error {
	d.t.Helper()
	d.step, d.Last, d.State, d.answered = 1, nil, nil, false
	d.Work.Begin()
	in := d.Input()
	in.Now, in.Args = AcceptedAt, args
	return d.check(d.tool.Call(d.Store, in))
}

// MustCall starts a flow and fails the test if the tool refuses it.
func (d *Driver) MustCall(args string) *Driver {
	d.t.Helper()
	if err := d.Call(args); err != nil {
		d.t.Fatalf("%s: %v", args, err)
	}
	return d
}

// Resume runs the next step with an event.
func (d *Driver) Resume(e *abi.Event) error {
	d.t.Helper()
	d.step++
	d.Work.Begin()
	in := d.Input()
	in.State, in.Event = string(d.State), e
	return d.check(d.tool.Resume(d.Store, in))
}

// EndRun ends the run that the flow waits for and runs the next step. text is the run's
// reply or, for any status but done, its error.
func (d *Driver) EndRun(status, text string) error {
	d.t.Helper()
	if d.Last.Wait == nil || d.Last.Wait.Run == "" {
		d.t.Fatalf("the flow does not wait for a run: %s", d.Last.Note)
	}
	r := &abi.Run{ID: d.Last.Wait.Run, Status: status, StartedAt: StartedAt, EndedAt: EndedAt}
	if status == abi.RunDone {
		r.Reply = text
	} else {
		r.Error = text
	}
	stored := *r
	d.Work.Status[r.ID] = &stored
	return d.Resume(&abi.Event{Type: abi.EventRun, Run: r})
}

// MustEndRun is EndRun, but fails the test if the step fails.
func (d *Driver) MustEndRun(status, text string) *Driver {
	d.t.Helper()
	if err := d.EndRun(status, text); err != nil {
		d.t.Fatalf("%.100s: %v", text, err)
	}
	return d
}

// Replies ends one run per text, with status done and the text as its reply.
func (d *Driver) Replies(texts ...string) *Driver {
	d.t.Helper()
	for _, text := range texts {
		d.MustEndRun(abi.RunDone, text)
	}
	return d
}

// Time runs the next step at the time for which the flow waits.
func (d *Driver) Time() *Driver {
	d.t.Helper()
	if d.Last.Wait == nil || d.Last.Wait.Until == 0 {
		d.t.Fatalf("the flow does not wait for a time: %s", d.Last.Note)
	}
	d.Now = d.Last.Wait.Until
	if err := d.Resume(&abi.Event{Type: abi.EventTime, At: d.Now}); err != nil {
		d.t.Fatal(err)
	}
	return d
}

// check stores a step result and checks the rules that apply to every step result.
func (d *Driver) check(r *abi.StepResult, err error) error {
	d.t.Helper()
	if err != nil {
		return err
	}
	d.Last, d.State = r, nil
	out := r.AppendJSON(nil)
	if err := jsonstrict.Check(out); err != nil {
		d.t.Fatalf("%v in %s", err, out)
	}
	if len(r.Note) > abi.MaxNote || r.Note == "" && r.Result != nil {
		d.t.Errorf("note of %d bytes: %s", len(r.Note), r.Note)
	}
	if w := r.Wait; w != nil {
		d.State = w.State
		if w.Run == "" && w.Until == 0 || len(w.State) > abi.MaxState {
			d.t.Errorf("wait for %q until %d with a state of %d bytes", w.Run, w.Until, len(w.State))
		}
	}
	if r.Result == nil {
		return nil
	}
	if d.answered {
		d.t.Errorf("answered twice: %s", r.Result)
	}
	d.answered = true
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Result))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.output.Validate(v); err != nil {
		d.t.Errorf("%v: %s", err, r.Result)
	}
	return nil
}

// WantResult checks the tool result of the last step; "" means that it has none.
func (d *Driver) WantResult(want string) *Driver {
	d.t.Helper()
	if string(d.Last.Result) != want {
		d.t.Errorf("result:\n got %s\nwant %s", d.Last.Result, want)
	}
	return d
}

// WantNote checks the flow's note after the last step.
func (d *Driver) WantNote(want string) *Driver {
	d.t.Helper()
	if d.Last.Note != want {
		d.t.Errorf("note:\n got %s\nwant %s", d.Last.Note, want)
	}
	return d
}

// WantEnded checks that the flow has ended.
func (d *Driver) WantEnded() *Driver {
	d.t.Helper()
	if w := d.Last.Wait; w != nil {
		d.t.Errorf("the flow still waits for %q until %d: %s", w.Run, w.Until, d.Last.Note)
	}
	return d
}

// WantRuns checks the started runs, each as "group source > session: first line of the
// message". Announce runs must have a time limit of one minute and no tools.
func (d *Driver) WantRuns(want ...string) *Driver {
	d.t.Helper()
	var got []string
	for _, r := range d.Work.Runs {
		message, _, _ := strings.Cut(r.Message, "\n")
		if r.NoTools {
			message = "(announce)"
		}
		got = append(got, r.Group+" "+r.Source+" > "+r.SessionKey+": "+message)
		if r.NoTools && r.TimeoutSeconds != 60 {
			d.t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(got, want) {
		d.t.Errorf("runs:\n got %q\nwant %q", got, want)
	}
	return d
}

// WantSent checks the texts queued for delivery.
func (d *Driver) WantSent(want ...abi.SendRequest) *Driver {
	d.t.Helper()
	got, _ := json.Marshal(d.Work.Sent)
	if exp, _ := json.Marshal(append([]abi.SendRequest(nil), want...)); string(got) != string(exp) {
		d.t.Errorf("sent:\n got %s\nwant %s", got, exp)
	}
	return d
}

// WantRefused checks that err is an error of the tool or, if step is true, a *guest.Fault.
func WantRefused(t *testing.T, err error, step bool, code abi.Code, text string) {
	t.Helper()
	var f *guest.Fault
	if !errors.Is(err, code) || errors.As(err, &f) != step || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v; want %s (of the step: %v) with %q", err, code, step, text)
	}
}
