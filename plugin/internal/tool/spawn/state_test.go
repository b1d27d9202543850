package spawn

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

func TestStateRoundTrip(t *testing.T) {
	full := state{phase: phaseParent, run: "r", requester: "agent:a:x", child: "agent:b:subagent:y", work: "w", announce: toParent, deletes: true,
		task: "q\n\"é", outcome: "l\x01", removeAt: 5}
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("this test does not set %s", v.Type().Field(i).Name)
		}
	}
	for _, s := range []state{
		full,
		{phase: phaseChild, run: "r", child: "c", work: "r", announce: toChannel},
		{phase: phaseAnnounce, run: "r", requester: "q", child: "c", work: "w", announce: toNone, task: "t"},
		{phase: phaseCleanup, child: "c", work: "w", announce: toChannel, outcome: "x", removeAt: 1},
	} {
		var got state
		if doc := string(s.appendJSON(nil)); !got.parse(doc) || got != s {
			t.Errorf("%s:\n got %+v\nwant %+v", doc, got, s)
		}
	}
}

// A state that this version did not write is an error, and is never read in part.
func TestUnreadableState(t *testing.T) {
	const good = `{"phase":"announce","run":"run-2","child":"agent:main:subagent:1","work":"run-1","announce":"channel"}`
	if s := new(state); !s.parse(good) {
		t.Fatal("the good state is unreadable")
	}
	docs := []string{``, `null`, `7`, `[]`, `"x"`, `{}`, `{`}
	for _, change := range [][2]string{
		{`"phase":"announce"`, `"phase":"Announce"`},
		{`"phase":"announce"`, `"phase":7`},
		{`"phase":"announce",`, ``},
		{`"run":"run-2",`, ``},
		{`"run":"run-2"`, `"run":""`},
		{`"run":"run-2"`, `"run":["run-2"]`},
		{`"child":"agent:main:subagent:1",`, ``},
		{`"work":"run-1",`, ``},
		{`"announce":"channel"`, `"announce":"everybody"`},
		{`,"announce":"channel"`, ``},
		{`}`, `,"deletes":false}`},
		{`}`, `,"deletes":"true"}`},
		{`}`, `,"tidyAt":-1}`},
		{`}`, `,"tidyAt":"1"}`},
		{`}`, `,"task":7}`},
		{`}`, `,"told":null}`},
		{`}`, `,"new":7}`},
		{`"phase":"announce"`, `"phase":"cleanup"`},
		{`"phase":"announce","run":"run-2",`, `"phase":"cleanup",`},
		{`"phase":"announce","run":"run-2",`, `"phase":"cleanup","tidyAt":0,`},
	} {
		doc := strings.Replace(good, change[0], change[1], 1)
		if doc == good {
			t.Fatalf("%q changes nothing", change)
		}
		docs = append(docs, doc)
	}
	for _, doc := range docs {
		d := drive(t, mainCaller)
		d.State = []byte(doc)
		err := d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-2", Status: abi.RunDone, Reply: "x"}})
		flowtest.WantRefused(t, err, true, abi.Internal, "cannot be read")
	}
}

func TestUnexpectedEvents(t *testing.T) {
	d := drive(t, mainCaller).MustCall(`{"task":"Count."}`)
	flowtest.WantRefused(t, d.Resume(nil), true, abi.InvalidArgs, "needs the event")
	other := &abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-9", Status: abi.RunDone}}
	flowtest.WantRefused(t, d.Resume(other), true, abi.InvalidArgs, `waits for the run "run-1", but the event is about the run "run-9"`)
	// A time event for which the flow does not wait changes nothing.
	state := string(d.State)
	if err := d.Resume(&abi.Event{Type: abi.EventTime, At: flowtest.Now}); err != nil || d.Last.Wait.Run != "run-1" || d.Last.Wait.Until != 0 || string(d.State) != state {
		t.Errorf("%+v, %v", d.Last, err)
	}
	d.Replies("done", "Result: 42")
	flowtest.WantRefused(t, d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-2", Status: abi.RunDone}}), true, abi.InvalidArgs, "the event is about the run")
	d.WantRuns("subagent  > "+child+": Count.", "nested  > "+child+": (announce)")
}

// With texts of any size the state stays within its bound, and the report can be delivered
// and has all its parts.
func TestHugeTexts(t *testing.T) {
	for name, unit := range map[string]string{"ascii": "x", "quotes": `"`, "controls": "\x01", "wide": "€", "mixed": "a\"é\n𝄞\x02"} {
		t.Run(name, func(t *testing.T) {
			huge := func(mark string) string { return mark + strings.Repeat(unit, (1<<20-len(mark))/len(unit)) }
			args := jsonappend.Open(nil)
			args.String("task", huge("task "))
			args.String("announce", toParent)
			d := drive(t, mainCaller).MustCall(string(args.Close()))
			if got := d.Work.Runs[0].Message; got != strings.TrimSpace(huge("task ")) {
				t.Errorf("S5.3 the task has %d bytes", len(got))
			}
			d.Replies(huge("reply "))
			asked := d.Work.Runs[1].Message
			if len(asked) > abi.MaxText || !utf8.ValidString(asked) || !strings.Contains(asked, "Task:\ntask "+unit) || !strings.Contains(asked, "Result:\nreply "+unit) ||
				strings.Count(asked, transcript.Marker) != 2 {
				t.Errorf("S5.5 the announce request has %d bytes", len(asked))
			}
			d.Replies("Result: " + huge("result ") + "\nNotes: " + huge("notes "))
			report := d.Work.Runs[2].Message
			if len(report) > abi.MaxText || len(report) < abi.MaxText-64<<10 || !utf8.ValidString(report) || !strings.HasPrefix(report, "Status: success\nResult: result "+unit) ||
				!strings.Contains(report, transcript.Marker+"\nNotes: notes "+unit) || !strings.Contains(report, transcript.Marker+"\n\nStats: runtime 5s · ") ||
				!strings.HasSuffix(report, " · transcript /store/child-1.jsonl") {
				t.Errorf("S5.5 report of %d bytes", len(report))
			}
			d.Replies(huge("answer "))
			if got := d.Work.Sent[0].Text; len(got) > abi.MaxText || !strings.HasPrefix(got, "answer "+unit) {
				t.Errorf("S5.6 delivered %d bytes", len(got))
			}
		})
	}
}

// Only texts that are too long to be delivered are truncated.
func TestOverlongTexts(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	d := drive(t, mainCaller).MustCall(`{"task":"Count.","announce":"parent"}`).MustEndRun(abi.RunFailed, long).MustEndRun(abi.RunFailed, long)
	report := d.Work.Runs[2].Message
	if want := "Status: error\nResult: -\nNotes: " + long[:2*maxReason] + " " + strings.TrimSpace(transcript.Marker) + "\n\nStats: "; !strings.HasPrefix(report, want) {
		t.Errorf("S5.5 report of %d bytes: %.200s", len(report), report)
	}
	d.Replies(long)
	if got := d.Work.Sent[0].Text; len(got) > abi.MaxText || len(got) < abi.MaxText-2 || !utf8.ValidString(got) || !strings.HasSuffix(got, transcript.Marker) {
		t.Errorf("S5.6 delivered %d bytes", len(got))
	}
}

// With keys of maximal length and long refusals, state and notes stay within their bounds.
func TestLongNames(t *testing.T) {
	key := "agent:main:" + strings.Repeat(`"`, abi.MaxSessionKey-len("agent:main:"))
	d := drive(t, abi.Caller{SessionKey: key, AgentID: "main"})
	d.Store.Sessions = append(d.Store.Sessions, abi.Session{Key: key, SessionID: "s-long", UpdatedAt: 1})
	args := jsonappend.Open(nil)
	args.String("task", strings.Repeat("\x01", abi.MaxText-1)+"x")
	args.String("label", strings.Repeat("\x01", abi.MaxLabel-1)+"x")
	args.String("thinking", strings.Repeat("€", abi.MaxName))
	args.String("model", strings.Repeat("€", abi.MaxName))
	d.MustCall(string(args.Close()))
	d.Work.Refuse[key] = abi.NewError(abi.Forbidden, strings.Repeat("\x02", 10_000))
	d.Replies(strings.Repeat("y", 1<<20), "")
	if d.Last.Wait == nil || len(d.Work.Runs) != 2 || !strings.HasPrefix(d.Last.Note, "kept 60 min; stored only (refused: \x02") {
		t.Fatalf("%+v", d.Last)
	}
	d.Time().WantEnded()
}
