package refhost

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// probe is a plugin with a tool that writes and a read-only tool. The first step makes
// the requests in its arguments and returns the replies, or waits; a later step answers
// with its event, settings and step number.
func probe(export string, input []byte, h HostFunctions) ([]byte, error) {
	if export == abi.ExportDescribe {
		return []byte(`{"tools":[{"name":"write","readOnly":false,"needs":["tools"]},{"name":"look","readOnly":true}]}`), nil
	}
	v, err := jsonvalue.Parse(input)
	if err != nil {
		panic(err)
	}
	at := func(pointer string) any {
		v, _ := jsonvalue.Lookup(v, pointer)
		return v
	}
	if export == abi.ExportResume {
		return jsonvalue.Compact(map[string]any{"result": map[string]any{"event": at("/event"), "config": at("/config"), "step": at("/step")}}), nil
	}
	replies := []any{}
	output := map[string]any{}
	requests, _ := at("/args/do").([]any)
	for _, r := range requests {
		r := r.([]any)
		reply, _ := jsonvalue.Parse(h.Call(jsonvalue.Text(r[0]), jsonvalue.Compact(r[1])))
		replies = append(replies, reply)
	}
	if wait, ok := at("/args/wait").(map[string]any); ok {
		wait["state"], wait["stateVersion"] = 1, 1
		if wait["run"] == true {
			wait["run"], _ = jsonvalue.Lookup(replies[len(replies)-1], "/ok/runId")
		}
		output["wait"] = wait
	} else {
		output["result"] = map[string]any{"replies": replies}
	}
	return jsonvalue.Compact(output), nil
}

const probed = `"id":"S4/x","spec":["S4"],"about":"x.","now":1000000,"config":{"tools":{"a":1},"session":{"b":2},"runs":{"timeoutSeconds":5}},
	"store":{"sessions":[{"key":"agent:main:main","sessionId":"1","updatedAt":1},{"key":"agent:main:b","sessionId":"2","updatedAt":1},{"key":"agent:main:c","sessionId":"3","updatedAt":1,"archivedAt":2}]},`

func probeHost(t *testing.T, rest string) (*Host, *vector.Vector) {
	t.Helper()
	v := oneOf(t, "{"+probed+rest+"}")
	h, err := New(v, probe)
	if err != nil {
		t.Fatal(err)
	}
	return h, v
}

const toB = `["agent",{"op":"run","sessionKey":"agent:main:b","message":"m","source":"agent:main:main","group":"nested"}]`

func TestHostRequests(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(toB+",", abi.MaxEffects), ",")
	tests := []struct{ name, tool, do, last string }{
		{"a run", "write", toB, `{"ok":{"runId":{"$any":true}}}`},
		{"a read", "write", `["store",{"op":"get","sessionKey":"agent:main:b"}]`, `{"ok":{"session":{"key":"agent:main:b"}}}`},
		{"a read after a write", "write", toB + `,["store",{"op":"get","sessionKey":"agent:main:b"}]`, `{"error":{"code":"conflict"}}`},
		{"a status request after a write", "write", toB + `,["agent",{"op":"status","runId":"r"}]`, `{"error":{"code":"conflict"}}`},
		{"a write in a read-only tool", "look", toB, `{"error":{"code":"forbidden"}}`},
		{"too many effects", "write", many + "," + toB, `{"error":{"code":"limit"}}`},
		{"a session that is missing", "write", strings.ReplaceAll(toB, ":b", ":z"), `{"error":{"code":"not_found"}}`},
		{"a session that is archived", "write", strings.ReplaceAll(toB, ":b", ":c"), `{"error":{"code":"not_found"}}`},
		{"a foreign source", "write", strings.ReplaceAll(toB, `"agent:main:main"`, `"agent:main:b"`), `{"error":{"code":"forbidden"}}`},
		{"no source", "write", strings.ReplaceAll(toB, `"source":"agent:main:main",`, ``), `{"ok":{"runId":{"$any":true}}}`},
		{"an unknown member", "write", strings.ReplaceAll(toB, `"message"`, `"deliver":true,"message"`), `{"error":{"code":"invalid_args"}}`},
		{"no message", "write", strings.ReplaceAll(toB, `"m"`, `""`), `{"error":{"code":"invalid_args"}}`},
		{"a blank message", "write", strings.ReplaceAll(toB, `"m"`, `" \n"`), `{"error":{"code":"invalid_args"}}`},
		{"an unknown group", "write", strings.ReplaceAll(toB, `nested`, `mine`), `{"error":{"code":"invalid_args"}}`},
		{"an unknown write", "write", `["agent",{"op":"abort","runId":"r"}]`, `{"error":{"code":"unsupported"}}`},
		{"a delivery to another session", "write", `["deliver",{"op":"send","sessionKey":"agent:main:b","text":"t"}]`, `{"error":{"code":"forbidden"}}`},
		{"a delivery to a session with a run of the flow", "write", toB + `,["deliver",{"op":"send","sessionKey":"agent:main:b","text":"t"}]`, `{"ok":{"deliveryId":{"$any":true}}}`},
		{"no run waits", "write", `["agent",{"op":"waits","sessionKey":"agent:main:b"}]`, `{"ok":{"waits":false}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, v := probeHost(t, `"call":{"tool":"`+tt.tool+`","args":{"do":[`+tt.do+`]}},"expect":{"match":{}}`)
			args, err := v.Steps[0].Arguments(nil)
			if err != nil {
				t.Fatal(err)
			}
			a := h.Call(&vector.Call{Tool: tt.tool, Args: args, Caller: v.Caller})
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			result, err := jsonvalue.Parse(a.Result)
			if err != nil {
				t.Fatal(err)
			}
			pattern, err := jsonvalue.Parse([]byte(`{"replies":{"$at":{"-1":` + tt.last + `}}}`))
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range vector.Match(result, pattern) {
				t.Error(line)
			}
		})
	}
}

// TestHostResumes checks which event resumes a flow, and when.
func TestHostResumes(t *testing.T) {
	tests := []struct{ name, turn, wait, event string }{
		{"a run", `{"reply":" r ","takesMs":1500}`, `{"run":true}`, `{"type":"run","at":1001500,"run":{"status":"done","reply":"r","startedAt":1000000,"endedAt":1001500}}`},
		{"a time", `{"takesMs":1500}`, `{"run":true,"until":1001000}`, `{"type":"time","at":1001000}`},
		{"the run wins a tie", `{"takesMs":1000}`, `{"run":true,"until":1001000}`, `{"type":"run","at":1001000}`},
		{"a time that is past", `{"takesMs":1500}`, `{"run":true,"until":5}`, `{"type":"time","at":1000000}`},
		{"a failed run", `{"error":"no"}`, `{"run":true}`, `{"type":"run","run":{"status":"failed","error":"no","reply":{"$absent":true}}}`},
		{"a killed run", `{"status":"killed"}`, `{"run":true}`, `{"type":"run","run":{"status":"killed"}}`},
		{"a run over its limit", `{"takesMs":6000}`, `{"run":true}`, `{"type":"run","at":1005000,"run":{"status":"timeout"}}`},
		{"a run that never answers", `{"status":"timeout"}`, `{"run":true}`, `{"type":"run","at":1005000,"run":{"status":"timeout"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, v := probeHost(t, `"agents":{"agent:main:b":[`+tt.turn+`]},"call":{"tool":"write","args":{"do":[`+toB+`],"wait":`+tt.wait+`}},
				"expect":{"match":{"event":`+tt.event+`,"step":2,"config":{"$is":{"tools":{"a":1}}}}}`)
			args, err := v.Steps[0].Arguments(nil)
			if err != nil {
				t.Fatal(err)
			}
			a := h.Call(&vector.Call{Tool: "write", Args: args, Caller: v.Caller})
			result, err := jsonvalue.Parse(a.Result)
			if err != nil {
				t.Fatal(err, a.Err)
			}
			for _, line := range v.Steps[0].Expect.Check(a, result) {
				t.Error(line)
			}
			if o := h.Finish(); len(o.Problems) > 0 || len(o.Flows) != 1 || o.Flows[0].Status != vector.FlowDone {
				t.Errorf("got %+v", o)
			}
		})
	}
}

// TestHostWouldBlock checks the deadlock check: chains of runs, queues, and waits that
// are not a deadlock.
func TestHostWouldBlock(t *testing.T) {
	running := func(key, id string) *hostRun {
		return &hostRun{id: id, RunOutcome: vector.RunOutcome{SessionKey: key, Status: abi.RunRunning}}
	}
	waiting := func(caller, run string) *hostFlow {
		return &hostFlow{caller: abi.Caller{RunID: caller}, status: flowWaiting, wait: &abi.Wait{Run: run}}
	}
	answered := waiting("b1", "a1")
	answered.answer = &vector.Answer{}
	ended := running("a", "a0")
	ended.endedAt = 1
	tests := []struct {
		name  string
		runs  []*hostRun
		flows []*hostFlow
		want  bool
	}{
		{"no wait", []*hostRun{running("a", "a1"), running("b", "b1")}, nil, false},
		{"an unanswered call", []*hostRun{running("a", "a1"), running("b", "b1")}, []*hostFlow{waiting("b1", "a1")}, true},
		{"the call is answered", []*hostRun{running("a", "a1"), running("b", "b1")}, []*hostFlow{answered}, false},
		{"a wait for another run", []*hostRun{ended, running("a", "a1"), running("b", "b1")}, []*hostFlow{waiting("b1", "a0")}, false},
		{"through other runs", []*hostRun{running("a", "a1"), running("b", "b1"), running("c", "c1")}, []*hostFlow{waiting("b1", "c1"), waiting("c1", "a1")}, true},
		{"queued behind the run", []*hostRun{running("a", "a1"), running("a", "a2"), running("b", "b1")}, []*hostFlow{waiting("b1", "a2")}, true},
		{"queued behind one that waits", []*hostRun{running("a", "a1"), running("b", "b1"), running("b", "b2")}, []*hostFlow{waiting("b1", "a1")}, true},
		{"a cycle of other runs", []*hostRun{running("a", "a1"), running("b", "b1"), running("c", "c1")}, []*hostFlow{waiting("b1", "c1"), waiting("c1", "b1")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &Host{runs: tt.runs, flows: tt.flows}
			if got := h.wouldBlock("b", "a1"); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestHostReportsScriptProblems(t *testing.T) {
	call := `"call":{"tool":"write","args":{"do":[` + toB + `],"wait":{"run":true}}},"expect":{"match":{}}`
	tests := []struct{ name, agents, problem string }{
		{"a missing turn", `{"agent:main:b":[]}`, "no turn 1"},
		{"an unused turn", `{"agent:main:b":["x","y"]}`, "1 runs in agent:main:b, but"},
		{"an answer that is not expected", `{"agent:main:b":[{"calls":[{"tool":"look","expect":{"match":{"replies":[1]}}}]}]}`, "agent's call: look"},
		{"no problem", `{"agent:main:b":[{"calls":[{"tool":"look","expect":{"result":{"replies":[]}}}]}]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, v := probeHost(t, `"agents":`+tt.agents+`,`+call)
			h, err := New(v, probe)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := vector.Play(v, h, nil)
			if got := strings.Join(problems, "; "); !strings.Contains(got, tt.problem) || (tt.problem == "") != (got == "") {
				t.Errorf("got %s, want %s", got, tt.problem)
			}
		})
	}
}

func TestHostDeduplicatesCalls(t *testing.T) {
	h, v := probeHost(t, `"agents":{"agent:main:b":[{"takesMs":2000}]},"call":{"tool":"write","args":{"do":[`+toB+`],"wait":{"run":true}}},"expect":{"match":{}}`)
	args, err := v.Steps[0].Arguments(nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(id string, args []byte, abandon int64) vector.Answer {
		return h.Call(&vector.Call{Tool: "write", Args: args, Caller: v.Caller, ID: id, AbandonAfterMs: abandon})
	}
	if a := call("c", args, 500); !a.Abandoned || h.now != 1000500 {
		t.Errorf("got %+v at %d", a, h.now)
	}
	if a := call("c", []byte(`{}`), 0); a.Err == nil {
		t.Errorf("got %s", a.Result)
	}
	if a := call("c", args, 0); a.Err != nil || h.now != 1002000 {
		t.Errorf("got %+v at %d", a, h.now)
	}
	if o := h.Finish(); len(o.Runs) != 1 {
		t.Errorf("got %d runs", len(o.Runs))
	}
}

func TestHostRestarts(t *testing.T) {
	for attempts, want := range []string{abi.RunFailed, abi.RunDone} {
		h, v := probeHost(t, `"agents":{"agent:main:b":[{"reply":"r","takesMs":2000}]},"call":{"tool":"write","args":{"do":[`+toB+`],"wait":{"run":true}}},"expect":{"match":{}}`)
		h.settings.maxAttempts = attempts + 1
		args, err := v.Steps[0].Arguments(nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := h.Call(&vector.Call{Tool: "write", Args: args, Caller: v.Caller, AbandonAfterMs: 1500}); !a.Abandoned {
			t.Fatalf("got %+v", a)
		}
		if err := h.Restart(); err != nil {
			t.Fatal(err)
		}
		o := h.Finish()
		if o.Runs[0].Status != want || o.Runs[0].Attempts != attempts+1 || o.Flows[0].Status != vector.FlowDone {
			t.Errorf("at most %d attempts: got %+v", attempts+1, o)
		}
		if n := len(h.stored("agent:main:b").Messages); n != 1+attempts {
			t.Errorf("at most %d attempts: got %d messages", attempts+1, n)
		}
	}
}

func TestHostAbortsRuns(t *testing.T) {
	for _, wait := range []int64{0, 1500} { // aborted while queued; while running
		h, v := probeHost(t, `"agents":{"agent:main:b":[{"reply":"r","takesMs":2000}]},"call":{"tool":"write","args":{"do":[`+toB+`],"wait":{"run":true}}},"expect":{"match":{}}`)
		args, err := v.Steps[0].Arguments(nil)
		if err != nil {
			t.Fatal(err)
		}
		var answers []vector.Answer
		h.call(&vector.Call{Tool: "write", Args: args, Caller: v.Caller}, func(a vector.Answer) { answers = append(answers, a) })
		if wait > 0 {
			h.Advance(wait)
		}
		id := h.runs[0].id
		for range 2 { // the second call has no effect
			if err := h.Abort(id); err != nil {
				t.Fatal(err)
			}
		}
		r := h.Finish().Runs[0]
		if r.Status != abi.RunKilled || r.Reply != "" || r.Error != vector.AbortedByOperator || (r.Attempts > 0) != (wait > 0) || len(answers) != 1 {
			t.Errorf("after %d ms: got %+v, %d answers", wait, r, len(answers))
		}
		if err := h.Abort("none"); err == nil {
			t.Error("Abort accepted a run that does not exist")
		}
	}
}

// oneOf loads a folder with one vector.
func oneOf(t *testing.T, doc string) *vector.Vector {
	t.Helper()
	vectors, err := vector.Load(fstest.MapFS{"x.json": {Data: []byte("[" + doc + "]")}})
	if err != nil {
		t.Fatal(err)
	}
	return vectors[0]
}
