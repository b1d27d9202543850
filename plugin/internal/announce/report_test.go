package announce

import (
	"regexp"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct{ answer, result, notes string }{
		{"", "", ""},
		{" \n\t\r\n ", "", ""},
		{"Result: a\nNotes: b", "a", "b"},
		{"Notes: b\nResult: a", "a", "b"},
		{"Result:a", "a", ""},
		{"Result :\ta", "a", ""},
		{"result: a\nNOTES: b", "a", "b"},
		{"Resultado: a\nNotas: b", "a", "b"},
		{"Resultado: a\nNotes: b", "a", "b"},
		{"Result:\n\na\n\nb\n\nNotes:\n\nc\n", "a\n\nb", "c"},
		{"Result: a\n  Notes: indented\n\tStatus: failed", "a\n  Notes: indented\n\tStatus: failed", ""},
		{"Result: a\nNotes: b\nResult: c\nNotes: d", "a\nc", "b\nd"},
		{"Here you are:\n\nResult: a", "a", ""},
		{"all of it\nin two lines", "all of it\nin two lines", ""},
		{"all of it\nNotes: b", "all of it", "b"},
		{"Notes: b", "", "b"},
		{"Result:\nNotes: b", "", "b"},
		{"before\nResult:\nNotes: b", "", "b"},
		{"Result: -\nNotes: -", "", ""},
		{"-", "", ""},
		{"Result: - a\n- b", "- a\n- b", ""},
		{"Results: a", "Results: a", ""},
		{"The Result: a", "The Result: a", ""},
		{"Result", "Result", ""},
		{": a", ": a", ""},
		// emphasis
		{"**Result:** a\n**Notes:** b", "a", "b"},
		{"**Result**: a\n__Notes__: b", "a", "b"},
		{"*Result:* **a** b\n_Notes:_ _b_", "**a** b", "_b_"},
		{"***Result:*** a\n**_Notes:_** b", "a", "b"},
		{"**Result: a**\n_Notes: b_", "a", "b"},
		{"**Result: a** and more", "a** and more", ""},
		{"Result: **a**", "**a**", ""},
		{"Result: 2*3*", "2*3*", ""},
		{"* Result: 2*3*\n* Notes: b", "2*3*", "b"},
		{"# Result: a\n### Notes: b", "a", "b"},
		{"## **Result:**\na\n## __Notes__:\nb", "a", "b"},
		{"## Result\na\n## Notes\nb", "a", "b"},
		{"## Results in short\na", "## Results in short\na", ""},
		// status and statistics
		{"Status: success\nResult: a", "a", ""},
		{"Status: killed", "", ""},
		{"Status:\nResult: a\nStatus: done.\nb", "a\nb", ""},
		{"Result: a\n**Status:** `failed`", "a", ""},
		{"## Status: **Success** ✅\na", "a", ""},
		{"Status: ❌ error - it broke\na", "a", ""},
		{"Status: concluído\na\nSTATUS: Concluída, com erros", "a", ""},
		{"Status: ✅\na", "a", ""},
		{"Status: all good\na\nStatus: Task completed successfully", "a\nStatus: Task completed successfully", ""},
		{"- Status: success\n> Status: success\nStatus\uff1asuccess\nEstado: sucesso\na", "a", ""},
		{"Status:\nsuccess\na", "a", ""},
		{"## Status\n**Success**\n## Result\na", "a", ""},
		{"Result: Status: success\na", "a", ""},
		{"Result: a\nStatus: error - it broke\nStatus: done, I think", "a", ""},
		{"Result: Notes: b", "Notes: b", ""},
		{"Status: 200 OK", "", ""},
		{"The endpoint works.\nStatus: 200 OK\nLatency: 5 ms", "The endpoint works.\nStatus: 200 OK\nLatency: 5 ms", ""},
		{"HTTP check\n- Status: 503 Service Unavailable\n- Body: oops", "HTTP check\n- Status: 503 Service Unavailable\n- Body: oops", ""},
		{"- **Status:** success\n- **Result:** 42 files\n- **Notes:** none", "42 files", "none"},
		{"Result: 42\n- **Status:** success\n> **Status:** failed", "42", ""},
		{"Result:\nheader\nStatus:\n```\ncode\n```\nend", "header\n```\ncode\n```\nend", ""},
		{"Result: found\n\n## Status\n\nFailed\n\nmore", "found\n\n\n\nmore", ""},
		{"Result:\nStatus: 200 OK", "Status: 200 OK", ""},
		{"Result: a\nStatus: the disk is full", "a\nStatus: the disk is full", ""},
		{"Result: a\nstatus: failed logins were 3 of 4", "a\nstatus: failed logins were 3 of 4", ""},
		{"Statuses: ok", "Statuses: ok", ""},
		{"Result: a\nStats: runtime 5s\nNotes: b\n**Stats:** Runtime: long", "a", "b"},
		{"Stats: two goals", "Stats: two goals", ""},
		{"Status: ok\r\nResult: a\r\nb\rStatus: failed\rNotes: c\r\n", "a\nb", "c"},
	} {
		if result, notes := Read(tt.answer); result != tt.result || notes != tt.notes {
			t.Errorf("S5.5 Read(%q)\n got %q, %q\nwant %q, %q", tt.answer, result, notes, tt.result, tt.notes)
		}
	}
}

func TestText(t *testing.T) {
	stats := Stats{Key: "k", SessionID: "i"}
	const line = "\n\nStats: runtime n/a · tokens n/a · session k · id i"
	for _, tt := range []struct {
		report     Report
		portuguese bool
		want       string
	}{
		{Report{Outcome: abi.RunDone, Result: "a", Notes: "b"}, false, "Status: success\nResult: a\nNotes: b"},
		{Report{Outcome: abi.RunDone, Result: "a\nb"}, true, "Status: success\nResultado: a\nb\nNotas: -"},
		{Report{Outcome: abi.RunFailed}, false, "Status: error\nResult: -\nNotes: -"},
		{Report{Outcome: abi.RunTimeout}, true, "Status: timeout\nResultado: -\nNotas: -"},
		{Report{Outcome: abi.RunKilled}, false, "Status: killed\nResult: -\nNotes: -"},
		{Report{Outcome: "unheard of"}, false, "Status: error\nResult: -\nNotes: -"},
	} {
		tt.report.Stats = stats
		if got := tt.report.Text(tt.portuguese); got != tt.want+line {
			t.Errorf("S5.5\n got %s\nwant %s", got, tt.want+line)
		}
	}
	if r, n := Labels(false); r != "Result" || n != "Notes" {
		t.Errorf("S5.5 en: %s, %s", r, n)
	}
	if r, n := Labels(true); r != "Resultado" || n != "Notas" {
		t.Errorf("S5.5 pt: %s, %s", r, n)
	}
}

// statusLine matches a line with the status of a report: the word alone, or followed by
// punctuation. "Status: killed sessions" is part of a result.
var statusLine = regexp.MustCompile(`(?mi)^[#*_]*status[*_]*: *[*_]*(success|error|timeout|killed)[ \t]*([^\pL\p{Nd} \t]|$)`)

// For every answer of an agent the report has exactly one line with a status: the first,
// which the plugin wrote.
func FuzzReport(f *testing.F) {
	for _, answer := range []string{
		"", "Result: a\nNotes: b", "Status: success\n\nStatus: error", "Result:\nStatus: killed\nNotes: **Status:** timeout", "# Status : _error_ no",
		"Status:\rStatus: killed\r\n", "Result: Status: error\n*Status: success*", "Notes:\n \nStatus: error", "**:", ":", "_*#:", "Stats: runtime",
		"Result: \xff\nStatus: \xe2error", "Status: \u2705 success", "-\nStatus: success\n-",
		"a\nStatus: killed\u8082", "a\nStatus: killed sessions", "a\nStatus: killed, by hand",
	} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		result, notes := Read(answer)
		for _, text := range []string{result, notes} {
			if text != strings.TrimSpace(text) || strings.Contains(text, "\r") || len(text) > len(answer) {
				t.Errorf("%q gives %q", answer, text)
			}
		}
		for _, portuguese := range []bool{false, true} {
			r := Report{Outcome: abi.RunFailed, Result: result, Notes: notes, Stats: Stats{Key: "k", SessionID: "i"}}
			if text := r.Text(portuguese); !strings.HasPrefix(text, "Status: error\n") || len(statusLine.FindAllString(text, -1)) != 1 {
				t.Errorf("S5.5 %q gives %q", answer, text)
			}
		}
	})
}

func TestStrip(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"a":                                     "a",
		"Status: success\na":                    "a",
		"Result: a\nStatus: done\nNotes: b":     "Result: a\nNotes: b",
		"a\r\nStats: runtime 1s\rb":             "a\nb",
		"Status: 200 OK\n  Status: done\n- one": "Status: 200 OK\n  Status: done\n- one",
	} {
		if got := Strip(text); got != want {
			t.Errorf("Strip(%q) = %q, want %q", text, got, want)
		}
	}
}
