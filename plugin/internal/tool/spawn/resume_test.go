package spawn

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
)

const (
	count        = `{"task":"Count."}`
	toParentCall = `{"task":"Count.","announce":"parent"}`
	deleted      = `{"task":"Count.","cleanup":"delete"}`

	archivedLater = "kept 60 min; "
	stats         = "\n\nStats: runtime 5s · tokens n/a · session agent:main:subagent:1 · id child-1 · transcript /store/child-1.jsonl"
	announceRun   = "nested  > agent:main:subagent:1: (announce)"
	work          = "subagent  > agent:main:subagent:1: Count."
)

func reportText(status, result, notes string) string {
	return "Status: " + status + "\nResult: " + result + "\nNotes: " + notes + stats
}

func posted(text, runID string) abi.SendRequest {
	return abi.SendRequest{SessionKey: main, Text: text, RunID: runID, AtCall: true}
}

// A complete spawn that reports to the channel of its requester.
func TestSpawn(t *testing.T) {
	d := drive(t, mainCaller).MustCall(count)
	d.Replies("There are 42.").WantNote("the child is done; waiting for the announce of " + child)
	if w := d.Last.Wait; w.Run != "run-2" || w.Until != flowtest.EndedAt+60*60_000 {
		t.Errorf("S5.7 waits for %q until %d", w.Run, w.Until)
	}
	d.Replies("Result: 42\nNotes: two empty").WantNote(archivedLater + "announce queued")
	if w := d.Last.Wait; w.Run != "" || w.Until != flowtest.EndedAt+60*60_000 {
		t.Errorf("S5.7 waits for %q until %d", w.Run, w.Until)
	}
	d.Time().WantNote("done: child archived; announce queued").WantEnded()
	d.WantRuns(work, announceRun).WantSent(posted(reportText("success", "42", "two empty"), "run-2"))
	if d.Session(child).ArchivedAt == 0 {
		t.Error("S5.7 the child is not archived")
	}
}

// A complete spawn that reports to its requester, which answers.
func TestSpawnToParent(t *testing.T) {
	d := drive(t, mainCaller).MustCall(toParentCall).Replies("There are 42.", "Result: 42")
	d.WantNote("reported to main; waiting for its answer")
	d.Replies(" It is 42.\n").WantNote(archivedLater + "reported; answer queued")
	d.WantRuns(work, announceRun, "nested "+child+" > "+main+": Status: success")
	d.WantSent(abi.SendRequest{SessionKey: main, Text: "It is 42.", RunID: "run-3"})
	if got, want := d.Work.Runs[2].Message, reportText("success", "42", "-"); got != want {
		t.Errorf("S5.6 got %s, want %s", got, want)
	}
}

// S5.5: the next step after the end of the child's run.
func TestChildEnds(t *testing.T) {
	for _, tt := range []struct {
		name, args, status, text string
		note                     string
		runs                     int
	}{
		{"done", count, abi.RunDone, "yes", "the child is done; waiting for the announce of " + child, 2},
		{"done, empty reply", count, abi.RunDone, " \n", "the child is done; waiting for the announce of " + child, 2},
		{"failed", count, abi.RunFailed, "broken", "failed; waiting for the announce of " + child, 2},
		{"killed", count, abi.RunKilled, "", "was aborted; waiting for the announce of " + child, 2},
		{"timeout", count, abi.RunTimeout, "", "hit its time limit; waiting for the announce of " + child, 2},
		{"silent", count, abi.RunDone, "\n ANNOUNCE_SKIP ", archivedLater + "silent (ANNOUNCE_SKIP)", 1},
		{"silent, and deleted", deleted, abi.RunDone, "ANNOUNCE_SKIP", "done: child deleted; silent (ANNOUNCE_SKIP)", 1},
		{"almost silent", count, abi.RunDone, "ANNOUNCE_SKIP.", "the child is done; waiting for the announce of " + child, 2},
		{"failed with ANNOUNCE_SKIP", count, abi.RunFailed, "ANNOUNCE_SKIP", "failed; waiting for the announce of " + child, 2},
		{"no announce", `{"task":"Count.","announce":"none"}`, abi.RunDone, "yes", archivedLater + `stored only (announce is "none")`, 1},
		{"no announce, failed", `{"task":"Count.","announce":"none"}`, abi.RunFailed, "no", archivedLater + `stored only (announce is "none")`, 1},
	} {
		d := drive(t, mainCaller).MustCall(tt.args).MustEndRun(tt.status, tt.text)
		if want := tt.note; d.Last.Note != want && d.Last.Note != "the child "+want {
			t.Errorf("%s: note %s, want %s", tt.name, d.Last.Note, want)
		}
		if len(d.Work.Runs) != tt.runs || len(d.Work.Sent) != 0 {
			t.Errorf("%s: runs %+v, sent %+v", tt.name, d.Work.Runs, d.Work.Sent)
		}
	}
}

// S5.5: the report for every outcome of the child's run and of the announce.
func TestReports(t *testing.T) {
	tool := func(role, content string) abi.Message {
		return abi.Message{JSON: []byte(`{"role":"` + role + `","content":` + content + `}`)}
	}
	for _, tt := range []struct {
		name           string
		status, text   string
		messages       []abi.Message
		announce, said string
		want           string
	}{
		{"an announce", abi.RunDone, "raw", nil, abi.RunDone, "Result: 42", reportText("success", "42", "-")},
		{"an empty announce", abi.RunDone, "raw", nil, abi.RunDone, "", reportText("success", "raw", "-")},
		{"a failed announce", abi.RunDone, "raw\nin two", nil, abi.RunFailed, "broken", reportText("success", "raw\nin two", "-")},
		{"a late announce", abi.RunDone, "raw", nil, abi.RunTimeout, "", reportText("success", "raw", "-")},
		{"a killed announce", abi.RunDone, "raw", nil, abi.RunKilled, "", reportText("success", "raw", "-")},
		{"a failure", abi.RunFailed, "no model", nil, abi.RunDone, "Result: a\nNotes: b", reportText("error", "a", "b (no model)")},
		{"a failure without notes", abi.RunFailed, "no model", nil, abi.RunDone, "Result: a", reportText("error", "a", "no model")},
		{"a failure that the notes mention", abi.RunFailed, "no model", nil, abi.RunDone, "Result: a\nNotes: there is no model", reportText("error", "a", "there is no model")},
		{"a failure without an error text", abi.RunFailed, "", nil, abi.RunFailed, "", reportText("error", "-", "-")},
		{"a failure with a credential", abi.RunFailed, "password=hunter2hunter2", nil, abi.RunFailed, "", reportText("error", "-", "password=***")},
		{"a time limit", abi.RunTimeout, "too long", nil, abi.RunFailed, "", reportText("timeout", "-", "too long")},
		{"an abort", abi.RunKilled, "by the operator", nil, abi.RunDone, "Status: success\nResult: half", reportText("killed", "half", "by the operator")},
		{"a tool's result", abi.RunDone, "", []abi.Message{tool("toolResult", `"older"`), tool("toolResult", `[{"type":"text","text":"42"},{"type":"image"},{"text":"files"}]`), tool("assistant", `"x"`)},
			abi.RunFailed, "", reportText("success", "42\n\nfiles", "-")},
		{"a newer tool result without text", abi.RunDone, "", []abi.Message{tool("tool", `"older"`), tool("toolResult", `[{"type":"image"}]`), tool("toolResult", `7`), tool("system", `"no"`)},
			abi.RunFailed, "", reportText("success", "older", "-")},
		{"a tool result with a credential", abi.RunDone, "", []abi.Message{tool("toolResult", `"password=hunter2hunter2"`)}, abi.RunFailed, "", reportText("success", "password=***", "-")},
		{"a tool result and a reply", abi.RunDone, "raw", []abi.Message{tool("toolResult", `"42"`)}, abi.RunFailed, "", reportText("success", "raw", "-")},
		{"a tool result of a failed run", abi.RunFailed, "broken", []abi.Message{tool("toolResult", `"42"`)}, abi.RunFailed, "", reportText("error", "42", "broken")},
		{"a reply with blanks around it", abi.RunDone, "\n raw ", nil, abi.RunFailed, "", reportText("success", "raw", "-")},
		{"a blank reply", abi.RunDone, " \n", []abi.Message{tool("toolResult", `"42"`)}, abi.RunFailed, "", reportText("success", "42", "-")},
		{"no result", abi.RunDone, "", []abi.Message{tool("assistant", `"x"`)}, abi.RunFailed, "", reportText("success", "-", "-")},
	} {
		d := drive(t, mainCaller).MustCall(count)
		d.Store.Messages[child] = tt.messages
		d.MustEndRun(tt.status, tt.text).MustEndRun(tt.announce, tt.said)
		if len(d.Work.Sent) != 1 || d.Work.Sent[0].Text != tt.want {
			t.Errorf("%s:\n got %+v\nwant %s", tt.name, d.Work.Sent, tt.want)
		}
	}
}

// The reply of an unsuccessful run counts only as its result: the plugin does not treat it
// as ANNOUNCE_SKIP or as the text of an announce.
func TestRepliesOfFailedRuns(t *testing.T) {
	end := func(d *driver, reply string) {
		t.Helper()
		r := &abi.Run{ID: d.Last.Wait.Run, Status: abi.RunKilled, Reply: reply, StartedAt: flowtest.StartedAt, EndedAt: flowtest.EndedAt}
		d.Work.Status[r.ID] = r
		if err := d.Resume(&abi.Event{Type: abi.EventRun, Run: r}); err != nil {
			t.Fatal(err)
		}
	}
	d := drive(t, mainCaller).MustCall(count)
	end(d, "ANNOUNCE_SKIP")
	end(d, "Result: 42")
	d.WantSent(posted(reportText("killed", "ANNOUNCE_SKIP", "-"), "run-2"))
}

// S5.6: a result that cannot be reported stays with the child.
func TestUnreachableRequester(t *testing.T) {
	archive := func(d *driver) { d.Session(main).ArchivedAt = 1 }
	remove := func(d *driver) { d.Remove(main) }
	for _, args := range []string{count, toParentCall, deleted} {
		kept := ""
		if args == deleted {
			kept = ", and therefore kept"
		}
		for why, change := range map[string]func(*driver){"the requester session is archived": archive, "the requester session does not exist": remove} {
			want := archivedLater + "stored only (" + why + ")" + kept
			d := drive(t, mainCaller).MustCall(args)
			change(d)
			d.Replies("done").WantNote(want).WantRuns(work)
			d.Time().WantEnded()
			if d.Session(child).ArchivedAt == 0 {
				t.Error("S5.7 the child is not archived")
			}
			d = drive(t, mainCaller).MustCall(args).Replies("done")
			change(d)
			d.Replies("Result: 42").WantNote(want).WantRuns(work, announceRun)
		}
	}
	d := drive(t, operator).MustCall(count).Replies("done")
	d.WantNote(archivedLater + "stored only (the requester is the operator, who has no session)").WantRuns(work)
}

// A requester without a channel at the spawn call gets the report in its session.
func TestNoChannel(t *testing.T) {
	for _, target := range []abi.Target{{}, {Channel: "telegram"}, {To: "7"}, {Channel: "internal", To: "7"}, {Channel: "unknown", To: "7"}} {
		c := abi.Caller{SessionKey: main, AgentID: "main", Channel: target.Channel, To: target.To}
		d := drive(t, c).MustCall(count).Replies("done", "Result: 42")
		d.WantRuns(work, announceRun, "nested "+child+" > "+main+": Status: success").WantSent()
	}
}

func TestParentAnswers(t *testing.T) {
	for _, tt := range []struct{ status, text, note string }{
		{abi.RunDone, "", "reported; the requester answered nothing"},
		{abi.RunDone, "\n", "reported; the requester answered nothing"},
		{abi.RunDone, " ANNOUNCE_SKIP", "reported; the requester is silent (ANNOUNCE_SKIP)"},
		{abi.RunFailed, "broken", "reported; the requester's answer failed"},
		{abi.RunTimeout, "", "reported; the requester's answer hit its time limit"},
		{abi.RunKilled, "", "reported; the requester's answer was aborted"},
	} {
		d := drive(t, mainCaller).MustCall(toParentCall).Replies("done", "Result: 42").MustEndRun(tt.status, tt.text)
		d.WantNote(archivedLater + tt.note).WantSent()
	}
}

// A refusal in a later step becomes part of the flow's outcome; any other error fails the
// step.
func TestRefusals(t *testing.T) {
	refuse := func(d *driver, key string, code abi.Code) { d.Work.Refuse[key] = abi.NewError(code, "closed") }

	d := drive(t, mainCaller).MustCall(count)
	refuse(d, child, abi.Forbidden)
	d.Replies("raw").WantNote(archivedLater + "announce queued").WantSent(posted(reportText("success", "raw", "-"), "run-1"))

	d = drive(t, mainCaller).MustCall(count).Replies("raw")
	refuse(d, main, abi.Forbidden)
	d.Replies("Result: 42").WantNote(archivedLater + "stored only (refused: closed)").WantSent()

	d = drive(t, mainCaller).MustCall(toParentCall).Replies("raw")
	refuse(d, main, abi.NotFound)
	d.Replies("Result: 42").WantNote(archivedLater+"stored only (refused: closed)").WantRuns(work, announceRun)

	d = drive(t, mainCaller).MustCall(toParentCall).Replies("raw", "Result: 42")
	refuse(d, main, abi.Forbidden)
	d.Replies("It is 42.").WantNote(archivedLater + "stored only (refused: closed)").WantSent()

	for _, tt := range []struct {
		name, args string
		replies    []string
		key        string
	}{
		{"announce", count, nil, child},
		{"delivery", count, []string{"raw"}, main},
		{"report", toParentCall, []string{"raw"}, main},
		{"answer", toParentCall, []string{"raw", "Result: 42"}, main},
		{"delete", deleted, []string{"raw"}, child},
	} {
		d := drive(t, mainCaller).MustCall(tt.args).Replies(tt.replies...)
		refuse(d, tt.key, abi.Internal)
		flowtest.WantRefused(t, d.EndRun(abi.RunDone, "next"), true, abi.Internal, "closed")
	}

	d = drive(t, mainCaller).MustCall(count).Replies("raw")
	delete(d.Work.Status, "run-1")
	err := d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-2", Status: abi.RunDone}})
	flowtest.WantRefused(t, err, true, abi.Internal, `does not know the run "run-1"`)
}

func TestCancel(t *testing.T) {
	cancel := &abi.Event{Type: abi.EventCancel, At: flowtest.Now}
	for _, tt := range []struct {
		args    string
		replies []string
		note    string
	}{
		{count, nil, "waiting for the child " + child + ", which continues"},
		{count, []string{"done"}, "waiting for the announce of " + child},
		{toParentCall, []string{"done", "Result: 42"}, "waiting for the requester's answer"},
		{count, []string{"done", "Result: 42"}, "waiting to archive or delete the child (announce queued)"},
	} {
		d := drive(t, mainCaller).MustCall(tt.args).Replies(tt.replies...)
		runs, sent := len(d.Work.Runs), len(d.Work.Sent)
		if err := d.Resume(cancel); err != nil {
			t.Fatal(err)
		}
		d.WantNote("done: cancelled while " + tt.note).WantEnded()
		if len(d.Work.Runs) != runs || len(d.Work.Sent) != sent || d.Session(child).ArchivedAt != 0 {
			t.Errorf("cancelled while %s: the step made writes", tt.note)
		}
	}
}

// The first step reads one session, a step after a run reads two, and the cleanup none.
func TestReads(t *testing.T) {
	d := drive(t, mainCaller).MustCall(toParentCall).Replies("done", "Result: 42", "ok").Time()
	if calls := d.Store.Calls; calls[abi.OpGet] != 1+3*2 || len(calls) != 1 {
		t.Errorf("reads %v", calls)
	}
	if !strings.HasPrefix(d.Last.Note, "done: ") {
		t.Error(d.Last.Note)
	}
}
