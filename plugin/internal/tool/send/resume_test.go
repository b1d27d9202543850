package send

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
)

const send = `{"sessionKey":"agent:ops:main","message":"question"}`

// A complete send: two turns, and an announce that is posted.
func TestSend(t *testing.T) {
	d := drive(t, mainCaller).MustCall(send).WantResult("")
	d.Replies("answer").
		WantResult(`{"runId":"run-1","status":"ok","reply":"answer",` + pending).
		WantNote("turn 1 of 5: waiting for agent:main:main")
	d.Replies("follow-up").WantResult("").WantNote("turn 2 of 5: waiting for agent:ops:main")
	d.Replies("more").WantNote("turn 3 of 5: waiting for agent:main:main")
	d.Replies(" REPLY_SKIP\n").WantNote("3 turns, stopped by REPLY_SKIP; waiting for the announce of agent:ops:main")
	d.Replies("Posted.").WantNote("done: 3 turns, stopped by REPLY_SKIP; announce queued").WantResult("")
	if d.Last.Wait != nil {
		t.Errorf("the flow still waits: %+v", d.Last.Wait)
	}
	d.WantRuns(
		"nested agent:main:main > agent:ops:main: question",
		"nested agent:ops:main > agent:main:main: answer",
		"nested agent:main:main > agent:ops:main: follow-up",
		"nested agent:ops:main > agent:main:main: more",
		"nested agent:main:main > agent:ops:main: (announce)",
	).WantSent(abi.SendRequest{SessionKey: "agent:ops:main", Text: "Posted.", RunID: "run-5"})
	for i, seconds := range []int{0, 60, 60, 60, 60} {
		if d.Work.Runs[i].TimeoutSeconds != seconds {
			t.Errorf("S4.6 run %d has %d seconds", i+1, d.Work.Runs[i].TimeoutSeconds)
		}
	}
}

// The answer does not refer to the history for a run that never started.
func TestFirstRunNeverStarts(t *testing.T) {
	d := drive(t, mainCaller).MustCall(send)
	err := d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-1", Status: abi.RunFailed, Error: "session x was archived before its turn"}})
	if err != nil {
		t.Fatal(err)
	}
	d.WantResult(`{"runId":"run-1","status":"error","error":"the message was received, but the run that answers it failed: session x was archived before its turn",` + skipped)
}

// S4.3: the answer when the first run ends, and the next run.
func TestFirstRunEnds(t *testing.T) {
	long := strings.Repeat("é", 3000)
	failed := func(what string) string {
		return `{"runId":"run-1","status":"error","error":"the message was received, but the run that answers it ` + what + `; sessions_history shows how far it came",` + skipped
	}
	tests := []struct {
		name, status, text string
		result, note       string
		code               abi.Code
		runs               int
	}{
		{"answer", abi.RunDone, "yes", `{"runId":"run-1","status":"ok","reply":"yes",` + pending, "turn 1 of 5: waiting for agent:main:main", "", 2},
		{"no answer", abi.RunDone, " \n", `{"runId":"run-1","status":"ok","reply":"",` + skipped, "done: no turns, stopped by an empty answer; announce skipped (there is no first reply)", "", 1},
		{"REPLY_SKIP", abi.RunDone, "REPLY_SKIP", `{"runId":"run-1","status":"ok","reply":"REPLY_SKIP",` + pending, "no turns, stopped by REPLY_SKIP; waiting for the announce of agent:ops:main", "", 2},
		{"almost REPLY_SKIP", abi.RunDone, "REPLY_SKIP.", `{"runId":"run-1","status":"ok","reply":"REPLY_SKIP.",` + pending, "turn 1 of 5: waiting for agent:main:main", "", 2},
		{"failed", abi.RunFailed, "exit status 1", failed("failed: exit status 1"), "done: no turns, stopped because the run failed; announce skipped (there is no first reply)", abi.Internal, 1},
		{"failed, without an error text", abi.RunFailed, "", failed("failed"), "done: no turns, stopped because the run failed; announce skipped (there is no first reply)", abi.Internal, 1},
		{"failed, with a credential", abi.RunFailed, "password=hunter2hunter2", failed("failed: password=***"), "done: no turns, stopped because the run failed; announce skipped (there is no first reply)", abi.Internal, 1},
		{"failed, with a long text", abi.RunFailed, long, failed("failed: " + long[:4000] + `\n…(truncated)…`), "done: no turns, stopped because the run failed; announce skipped (there is no first reply)", abi.Internal, 1},
		{"killed", abi.RunKilled, "by the operator", failed("was aborted: by the operator"), "done: no turns, stopped because the run was aborted; announce skipped (there is no first reply)", abi.Internal, 1},
		{"timeout", abi.RunTimeout, "", failed("hit its time limit"), "done: no turns, stopped because the run hit its time limit; announce skipped (there is no first reply)", abi.Internal, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive(t, mainCaller).MustCall(send).MustEndRun(tt.status, tt.text).WantResult(tt.result).WantNote(tt.note)
			if d.Last.Code != tt.code || len(d.Work.Runs) != tt.runs {
				t.Errorf("code %q, runs %d", d.Last.Code, len(d.Work.Runs))
			}
			// The flow continues in the same way if the caller did not wait (S4.6).
			other := drive(t, mainCaller).MustCall(strings.Replace(send, `}`, `,"timeoutSeconds":0}`, 1)).WantResult(accepted)
			other.MustEndRun(tt.status, tt.text).WantResult("").WantNote(tt.note)
			if len(other.Work.Runs) != tt.runs {
				t.Errorf("without a wait: runs %d", len(other.Work.Runs))
			}
		})
	}
}

// S4.3: the caller's timeout expires.
func TestTimeUp(t *testing.T) {
	const text = `"error":"no answer in time. The message was received and its run continues: do not send it again, read the answer later with sessions_history"`
	timeout := func(message string) string {
		return `{"runId":"run-1","status":"timeout",` + text + `,"sessionKey":"agent:ops:main","delivery":{"message":"` + message + `","announce":"pending"}}`
	}
	up := &abi.Event{Type: abi.EventTime, At: acceptedAt + 30_000}
	for status, message := range map[string]string{abi.RunQueued: "stored", abi.RunRunning: "started"} {
		d := drive(t, mainCaller).MustCall(send)
		d.Work.Status["run-1"] = &abi.Run{ID: "run-1", Status: status}
		if err := d.Resume(up); err != nil {
			t.Fatal(err)
		}
		d.WantResult(timeout(message)).WantNote("waiting for agent:ops:main; its caller no longer waits")
		if d.Last.Wait.Run != "run-1" || d.Last.Wait.Until != 0 || d.Last.Code != "" {
			t.Errorf("%+v, %s", d.Last.Wait, d.Last.Code)
		}
		// A time event for which the flow does not wait changes nothing.
		state := string(d.State)
		if err := d.Resume(up); err != nil || d.Last.Wait.Run != "run-1" || string(d.State) != state || d.Last.Result != nil {
			t.Errorf("%+v, %v", d.Last, err)
		}
		d.Replies("late").WantResult("").WantNote("turn 1 of 5: waiting for agent:main:main")
	}

	d := drive(t, mainCaller).MustCall(`{"sessionKey":"agent:ops:main","message":"x","announce":"none"}`)
	d.Work.Status["run-1"] = &abi.Run{ID: "run-1", Status: abi.RunQueued}
	if err := d.Resume(up); err != nil {
		t.Fatal(err)
	}
	d.WantResult(strings.Replace(timeout("stored"), "pending", "skipped", 1))

	// The run ended before the step that handles the timeout.
	d = drive(t, mainCaller).MustCall(send)
	d.Work.Status["run-1"] = &abi.Run{ID: "run-1", Status: abi.RunDone, Reply: "just so"}
	if err := d.Resume(up); err != nil {
		t.Fatal(err)
	}
	d.WantResult(`{"runId":"run-1","status":"ok","reply":"just so",` + pending).WantNote("turn 1 of 5: waiting for agent:main:main")

	d = drive(t, mainCaller).MustCall(send)
	flowtest.WantRefused(t, d.Resume(up), true, abi.Internal, `does not know the run "run-1"`)
}

func TestCancel(t *testing.T) {
	cancel := &abi.Event{Type: abi.EventCancel}
	for status, message := range map[string]string{abi.RunQueued: "stored", abi.RunRunning: "started", abi.RunKilled: "answered"} {
		d := drive(t, mainCaller).MustCall(send)
		d.Work.Status["run-1"] = &abi.Run{ID: "run-1", Status: status}
		if err := d.Resume(cancel); err != nil || d.Last.Wait != nil {
			t.Fatalf("%+v, %v", d.Last, err)
		}
		d.WantNote("done: cancelled").WantResult(`{"runId":"run-1","status":"error","error":"waiting for the answer was cancelled. The message was received: do not send it again, sessions_history shows its answer once there is one",` +
			`"sessionKey":"agent:ops:main","delivery":{"message":"` + message + `","announce":"skipped"}}`)
	}
	d := drive(t, mainCaller).MustCall(send).Replies("answer")
	if err := d.Resume(cancel); err != nil || d.Last.Wait != nil || len(d.Work.Runs) != 2 {
		t.Fatalf("%+v, %v", d.Last, err)
	}
	d.WantNote("done: cancelled").WantResult("")
}

// S4.6: the reasons that end the loop; the announce follows in any case.
func TestStops(t *testing.T) {
	forbid := func(key string) func(*driver) {
		return func(d *driver) { d.Work.Refuse[key] = abi.NewError(abi.Forbidden, "policy says no") }
	}
	archive := func(key string) func(*driver) { return func(d *driver) { d.Session(key).ArchivedAt = 1 } }
	remove := func(key string) func(*driver) { return func(d *driver) { d.Remove(key) } }
	turns := func(n string) func(*driver) {
		return func(d *driver) {
			d.Config = strings.TrimSuffix(everything, "}") + `,"session":{"agentToAgent":{"maxPingPongTurns":` + n + `}}}`
		}
	}
	status := func(s string) func(*driver) { return func(d *driver) { d.MustEndRun(s, "x") } }
	skip := func(d *driver) { d.Replies("REPLY_SKIP") }
	tests := []struct {
		name  string
		turns int // turns before the loop ends
		then  []func(*driver)
		note  string
	}{
		{"REPLY_SKIP in turn 1", 1, []func(*driver){skip}, "1 turn, stopped by REPLY_SKIP"},
		{"REPLY_SKIP in turn 2", 2, []func(*driver){skip}, "2 turns, stopped by REPLY_SKIP"},
		{"empty", 1, []func(*driver){func(d *driver) { d.Replies("") }}, "1 turn, stopped by an empty answer"},
		{"failed", 1, []func(*driver){status(abi.RunFailed)}, "1 turn, stopped because the run failed"},
		{"killed", 2, []func(*driver){status(abi.RunKilled)}, "2 turns, stopped because the run was aborted"},
		{"over 60 s", 1, []func(*driver){status(abi.RunTimeout)}, "1 turn, stopped because the run hit its time limit"},
		{"maximum", 5, []func(*driver){func(d *driver) { d.Replies("last") }}, "5 turns, session.agentToAgent.maxPingPongTurns is 5"},
		{"other maximum", 0, []func(*driver){turns("2"), func(d *driver) { d.Replies("1", "2", "3") }}, "2 turns, session.agentToAgent.maxPingPongTurns is 2"},
		{"maximum lowered during the loop", 3, []func(*driver){turns("1"), func(d *driver) { d.Replies("x") }}, "3 turns, session.agentToAgent.maxPingPongTurns is 1"},
		{"no turns", 0, []func(*driver){turns("0"), func(d *driver) { d.Replies("x") }}, "no turns, session.agentToAgent.maxPingPongTurns is 0"},
		{"policy in turn 1", 0, []func(*driver){forbid("agent:main:main"), func(d *driver) { d.Replies("x") }}, "no turns, stopped because it was refused: policy says no"},
		{"policy in turn 3", 2, []func(*driver){forbid("agent:main:main"), func(d *driver) { d.Replies("x") }}, "2 turns, stopped because it was refused: policy says no"},
		{"requester archived", 0, []func(*driver){archive("agent:main:main"), func(d *driver) { d.Replies("x") }}, "no turns, stopped because the requester session is archived"},
		{"requester deleted", 2, []func(*driver){remove("agent:main:main"), func(d *driver) { d.Replies("x") }}, "2 turns, stopped because the requester session does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive(t, mainCaller).MustCall(send)
			if tt.turns > 0 {
				d.Replies([]string{"0", "1", "2", "3", "4"}[:tt.turns]...)
			}
			for _, then := range tt.then {
				then(d)
			}
			d.WantNote(tt.note + "; waiting for the announce of agent:ops:main")
			d.Replies("Post").WantNote("done: " + tt.note + "; announce queued")
			if len(d.Work.Sent) != 1 {
				t.Errorf("sent %+v", d.Work.Sent)
			}
		})
	}
}

// If the target is archived or deleted, or the host refuses its run, no turn starts there and
// nothing is announced.
func TestTargetUnavailable(t *testing.T) {
	d := drive(t, mainCaller).MustCall(send).Replies("answer")
	d.Session("agent:ops:main").ArchivedAt = 1
	d.Replies("more").WantNote("done: 1 turn, stopped because the target session is archived; announce skipped (the target session is archived)")

	d = drive(t, mainCaller).MustCall(send)
	d.Remove("agent:ops:main")
	d.Replies("answer").WantResult(`{"runId":"run-1","status":"ok","reply":"answer",` + skipped).WantNote("turn 1 of 5: waiting for agent:main:main")
	d.Replies("REPLY_SKIP").WantNote("done: 1 turn, stopped by REPLY_SKIP; announce skipped (the target session does not exist)")

	d = drive(t, mainCaller).MustCall(send).Replies("answer")
	d.Work.Refuse["agent:ops:main"] = abi.NewError(abi.Forbidden, "policy says no")
	d.Replies("more").WantNote("done: 1 turn, stopped because it was refused: policy says no; announce skipped (refused: policy says no)")
}

func TestNoLoop(t *testing.T) {
	d := drive(t, operator).MustCall(send).Replies("answer").WantResult(`{"runId":"run-1","status":"ok","reply":"answer",` + pending).
		WantNote("no turns, the requester is the operator; waiting for the announce of agent:ops:main")
	d.Replies("Post").WantNote("done: no turns, the requester is the operator; announce queued").
		WantRuns("nested  > agent:ops:main: question", "nested  > agent:ops:main: (announce)")

	d = drive(t, mainCaller).MustCall(`{"sessionKey":"current","message":"note"}`).Replies("answer").WantResult("").
		WantNote("done: no turns, the session sent to itself; announce skipped (the session sent to itself)")
	d.WantRuns("nested agent:main:main > agent:main:main: note")

	stranger := abi.Caller{SessionKey: "agent:main:webchat:dm:9", AgentID: "main", Channel: "webchat"}
	d = drive(t, stranger).MustCall(send).Replies("answer").WantResult(`{"runId":"run-1","status":"ok","reply":"answer",` + pending).
		WantNote("no turns, stopped because the requester session does not exist; waiting for the announce of agent:ops:main")
	if !strings.Contains(d.Work.Runs[0].Context, "requester session agent:main:webchat:dm:9, channel webchat, target session main.") {
		t.Errorf("S4.5 %s", d.Work.Runs[0].Context)
	}
}

// S4.7: the outcomes of the announce.
func TestAnnounce(t *testing.T) {
	tests := []struct {
		name, args string
		then       func(*driver)
		note       string
		sent       int
	}{
		{"ANNOUNCE_SKIP", send, func(d *driver) { d.Replies(" ANNOUNCE_SKIP ") }, "announce skipped (ANNOUNCE_SKIP)", 0},
		{"almost ANNOUNCE_SKIP", send, func(d *driver) { d.Replies("ANNOUNCE_SKIP!") }, "announce queued", 1},
		{"empty", send, func(d *driver) { d.Replies("") }, "announce skipped (empty)", 0},
		{"failed", send, func(d *driver) { d.MustEndRun(abi.RunFailed, "x") }, "announce failed (its run failed)", 0},
		{"over 60 s", send, func(d *driver) { d.MustEndRun(abi.RunTimeout, "") }, "announce failed (its run hit its time limit)", 0},
		{"refused", send, func(d *driver) {
			d.Work.Refuse["agent:ops:main"] = abi.NewError(abi.Forbidden, "policy says no")
			d.Replies("Post")
		}, "announce not posted (refused: policy says no)", 0},
		{"none", strings.Replace(send, "}", `,"announce":"none"}`, 1), func(*driver) {}, `announce skipped (announce is "none")`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive(t, mainCaller).MustCall(tt.args).Replies("answer", "REPLY_SKIP")
			tt.then(d)
			d.WantNote("done: 1 turn, stopped by REPLY_SKIP; " + tt.note).WantResult("")
			if len(d.Work.Sent) != tt.sent || d.Last.Wait != nil {
				t.Errorf("sent %+v, wait %+v", d.Work.Sent, d.Last.Wait)
			}
		})
	}
}

// A refusal with a code other than Forbidden or NotFound fails a later step.
func TestLaterFaults(t *testing.T) {
	for _, key := range []string{"agent:main:main", "agent:ops:main"} {
		d := drive(t, mainCaller).MustCall(send)
		if key == "agent:ops:main" {
			d.Replies("answer", "REPLY_SKIP")
		}
		d.Work.Refuse[key] = abi.NewError(abi.Conflict, "again")
		flowtest.WantRefused(t, d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: d.Last.Wait.Run, Status: abi.RunDone, Reply: "x"}}), true, abi.Conflict, "again")
	}
}
