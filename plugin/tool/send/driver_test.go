package send

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
	everything = `{"tools":{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":true}}}`
)

var (
	mainCaller = abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}
	operator   = abi.Caller{Operator: true}
)

// driver plays a flow as a host does: it runs steps and keeps the state.
type driver struct {
	t      *testing.T
	store  *guesttest.Store
	work   *guesttest.Work
	config string
	caller abi.Caller

	step  int
	last  *abi.StepResult // of the newest step that did not fail
	state []byte
}

func drive(t *testing.T, caller abi.Caller) *driver {
	work := &guesttest.Work{Status: map[string]*abi.Run{}, Refuse: map[string]*abi.Error{}}
	return &driver{t: t, config: everything, caller: caller, work: work, store: &guesttest.Store{Work: work, Sessions: []abi.Session{
		{Key: "agent:main:main", SessionID: "s-main", UpdatedAt: 9, LastChannel: "telegram", LastTo: "7"},
		{Key: "agent:ops:main", SessionID: "s-ops", UpdatedAt: 8, Label: "ops", LastChannel: "discord", LastTo: "8"},
		{Key: "agent:main:cron:daily", SessionID: "s-cron", UpdatedAt: 7, Label: "twin"},
		{Key: "agent:ops:cron:daily", SessionID: "s-cron2", UpdatedAt: 6, Label: "twin"},
		{Key: "agent:main:old", SessionID: "s-old", UpdatedAt: 5, Label: "old", ArchivedAt: 1},
		{Key: "agent:main:subagent:1", SessionID: "s-child", UpdatedAt: 4, SpawnedBy: "agent:main:main"},
	}}}
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

// remove deletes a stored session.
func (d *driver) remove(key string) {
	row := d.row(key)
	*row = abi.Session{Key: "agent:nobody:" + key}
}

func (d *driver) input() *guest.Input {
	return &guest.Input{FlowID: "flow-1", Step: int64(d.step), Now: acceptedAt + 5, AcceptedAt: acceptedAt, Caller: d.caller, Config: d.config}
}

func (d *driver) call(args string) error {
	d.t.Helper()
	d.step, d.last, d.state = 1, nil, nil
	d.work.Begin()
	in := d.input()
	in.Args = args
	return d.take(Call(d.store, in))
}

// must makes a call that is to start a run.
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

// ends lets the run that is waited for end.
func (d *driver) ends(status, text string) *driver {
	d.t.Helper()
	if d.last.Wait == nil {
		d.t.Fatalf("the flow waits for no run: %s", d.last.Note)
	}
	r := &abi.Run{ID: d.last.Wait.Run, Status: status, StartedAt: 1}
	if status == abi.RunDone {
		r.Reply = text
	} else {
		r.Error = text
	}
	if err := d.resume(&abi.Event{Type: abi.EventRun, Run: r}); err != nil {
		d.t.Fatalf("%s: %v", text, err)
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

var outputSchema = sync.OnceValue(func() *jsonschema.Schema {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.SendOutput))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("send", v); err != nil {
		panic(err)
	}
	return c.MustCompile("send")
})

// take checks what every step result must be.
func (d *driver) take(r *abi.StepResult, err error) error {
	d.t.Helper()
	if err != nil {
		return err
	}
	answeredBefore := bytes.Contains(d.state, []byte(`"answered":true`))
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
		if w.Run == "" || len(w.State) > abi.MaxState {
			d.t.Errorf("wait for %q with a state of %d bytes", w.Run, len(w.State))
		}
	}
	if r.Result == nil {
		return nil
	}
	if answeredBefore {
		d.t.Errorf("answered twice: %s", r.Result)
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

func (d *driver) wantResult(want string) *driver {
	d.t.Helper()
	if want == "" && d.last.Result == nil {
		return d
	}
	if string(d.last.Result) != want {
		d.t.Errorf("result:\n got %s\nwant %s", d.last.Result, want)
	}
	return d
}

func (d *driver) wantNote(want string) *driver {
	d.t.Helper()
	if d.last.Note != want {
		d.t.Errorf("note:\n got %s\nwant %s", d.last.Note, want)
	}
	return d
}

// wantRuns checks in which sessions runs were started, with what message and on
// whose behalf.
func (d *driver) wantRuns(want ...string) *driver {
	d.t.Helper()
	var got []string
	for _, r := range d.work.Runs {
		message := r.Message
		if r.NoTools {
			message = "(announce)"
		}
		got = append(got, r.Source+" > "+r.SessionKey+": "+message)
		if r.Group != abi.GroupNested || r.NoTools && r.TimeoutSeconds != 60 {
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
