package send

import (
	"encoding/json"
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
	full := state{phase: phaseTurn, run: "r", requester: "agent:a:x", target: "agent:b:y", answered: true, quiet: true, turn: 3,
		stopped: "s", request: "q\n\"", reply: "é", latest: "l\x01", latestTurn: 2}
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("this test does not set %s", v.Type().Field(i).Name)
		}
	}
	for _, s := range []state{full, {phase: phaseFirst, run: "r", target: "t"}, {phase: phaseAnnounce, run: "r", target: "t", turn: 5}} {
		var got state
		if doc := string(s.appendJSON(nil)); !got.parse(doc) || got != s {
			t.Errorf("%s:\n got %+v\nwant %+v", doc, got, s)
		}
	}
}

// A state that this version did not write is an error, and is never read in part.
func TestUnreadableState(t *testing.T) {
	const good = `{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":1}`
	if s := new(state); !s.parse(good) {
		t.Fatal("the good state is unreadable")
	}
	for _, doc := range []string{
		``, `null`, `7`, `[]`, `"x"`, `{}`, `{`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main"}`,
		`{"phase":"turn","run":"run-2","turn":1}`,
		`{"phase":"turn","target":"agent:ops:main","turn":1}`,
		`{"phase":"first","run":"run-2","target":"agent:ops:main","turn":1}`,
		`{"phase":"Turn","run":"run-2","target":"agent:ops:main","turn":1}`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":-1}`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":1,"latestTurn":2}`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":"1"}`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":1,"answered":false}`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":1,"reply":7}`,
		`{"phase":"turn","run":"run-2","target":"agent:ops:main","turn":1,"new":7}`,
	} {
		d := drive(t, mainCaller)
		d.State = []byte(doc)
		err := d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-2", Status: abi.RunDone, Reply: "x"}})
		flowtest.WantRefused(t, err, true, abi.Internal, "cannot be read")
	}
}

func TestUnexpectedEvents(t *testing.T) {
	d := drive(t, mainCaller).MustCall(send)
	flowtest.WantRefused(t, d.Resume(nil), true, abi.InvalidArgs, "needs the event")
	flowtest.WantRefused(t, d.Resume(&abi.Event{Type: abi.EventRun, Run: &abi.Run{ID: "run-9", Status: abi.RunDone}}), true, abi.InvalidArgs, `waits for the run "run-1", but the event is about the run "run-9"`)
	d.WantRuns("nested agent:main:main > agent:ops:main: question")
}

// Texts of any size between the agents are complete, the state stays within its bound, and
// the announce request contains as much as fits.
func TestHugeTexts(t *testing.T) {
	for name, unit := range map[string]string{"ascii": "x", "quotes": `"`, "controls": "\x01", "wide": "€", "mixed": "a\"é\n𝄞\x02"} {
		t.Run(name, func(t *testing.T) {
			huge := func(mark string) string { return mark + strings.Repeat(unit, (1<<20-len(mark))/len(unit)) }
			args := jsonappend.Open(nil)
			args.String("sessionKey", "agent:ops:main")
			args.String("message", huge("request "))
			d := drive(t, mainCaller).MustCall(string(args.Close()))
			d.Replies(huge("reply "), huge("second "), huge("third "), "REPLY_SKIP")
			for i, want := range []string{"request ", "reply ", "second ", "third "} {
				if d.Work.Runs[i].Message != strings.TrimSpace(huge(want)) {
					t.Errorf("run %d has a message of %d bytes", i+1, len(d.Work.Runs[i].Message))
				}
			}
			announce := d.Work.Runs[4].Message
			for _, want := range []string{"request ", "reply ", "third "} {
				if !strings.Contains(announce, want+unit) {
					t.Errorf("the announce request does not contain the %s", want)
				}
			}
			if !utf8.ValidString(announce) || strings.Count(announce, transcript.Marker) != 3 || strings.Contains(announce, "second ") {
				t.Errorf("announce of %d bytes", len(announce))
			}
			if len(jsonappend.String(nil, announce)) < maxTexts-1000 {
				t.Errorf("the announce request contains %d bytes, although more would fit", len(announce))
			}
			d.Replies(huge("post "))
			if got := d.Work.Sent[0].Text; got != strings.TrimSpace(huge("post ")) {
				t.Errorf("delivered %d bytes", len(got))
			}
		})
	}
}

// A reply that is longer than a message may be is truncated.
func TestOverlongReply(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	d := drive(t, mainCaller).MustCall(send).Replies(long)
	if m := d.Work.Runs[1].Message; len(m) > abi.MaxText || len(m) < abi.MaxText-2 || !utf8.ValidString(m) || !strings.HasSuffix(m, transcript.Marker) {
		t.Errorf("message of %d bytes", len(m))
	}
	var r struct{ Reply string }
	if err := json.Unmarshal(d.Last.Result, &r); err != nil || r.Reply != long {
		t.Errorf("S4.4 the reply was changed: %d bytes, %v", len(r.Reply), err)
	}
	d.Replies("REPLY_SKIP").Replies(long)
	if text := d.Work.Sent[0].Text; len(text) > abi.MaxText || !strings.HasSuffix(text, transcript.Marker) {
		t.Errorf("delivery of %d bytes", len(text))
	}
}

// A reply that exceeds the output of a step is truncated in the result only.
func TestReplyBeyondOutput(t *testing.T) {
	long := strings.Repeat("\x01", abi.MaxText)
	d := drive(t, mainCaller).MustCall(send).Replies(long)
	var r struct{ Reply string }
	if err := json.Unmarshal(d.Last.Result, &r); err != nil || !strings.HasSuffix(r.Reply, "\x01"+transcript.Marker) || len(d.Last.Result) > maxReply+500 || len(d.Last.Result) < maxReply-500 {
		t.Errorf("result of %d bytes, %v", len(d.Last.Result), err)
	}
	if d.Work.Runs[1].Message != long {
		t.Errorf("message of %d bytes", len(d.Work.Runs[1].Message))
	}
}

// With keys of maximal length and a long refusal the state stays within its bound.
func TestLongNames(t *testing.T) {
	long := strings.Repeat(`"`, abi.MaxSessionKey-len("agent:main:"))
	d := drive(t, abi.Caller{SessionKey: "agent:main:" + long, AgentID: "main"})
	target := "agent:main:" + long[1:] + "x"
	d.Store.Sessions = append(d.Store.Sessions, abi.Session{Key: target}, abi.Session{Key: d.Caller.SessionKey})
	args := jsonappend.Open(nil)
	args.String("sessionKey", target)
	args.String("message", strings.Repeat("\x01", 1<<20))
	d.MustCall(string(args.Close()))
	d.Work.Refuse[d.Caller.SessionKey] = abi.NewError(abi.Forbidden, strings.Repeat("\x02", 10_000))
	d.Replies(strings.Repeat("y", 1<<20))
	if d.Last.Wait == nil || len(d.Work.Runs) != 2 {
		t.Fatalf("%+v", d.Last)
	}
	d.Replies("Post")
	if len(d.Work.Sent) != 1 {
		t.Errorf("%s", d.Last.Note)
	}
}
