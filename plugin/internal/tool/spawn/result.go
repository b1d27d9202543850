package spawn

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// Bounds of the parts of a report, in bytes. Their sum is below abi.MaxText.
const (
	maxResult = abi.MaxText - 64<<10
	maxNotes  = 32 << 10
)

// maxReason bounds a run's error in a report, in characters.
const maxReason = 2000

// lookBack is the number of newest messages, without those of user and assistant, that
// resultOf searches for a tool result with text.
const lookBack = 10

// resultOf returns the result of the child's run: its final reply, else the newest tool
// result in its transcript, else "" (S5.5).
func (f *spawnFlow) resultOf(run *abi.Run) (string, error) {
	if run.Reply != "" {
		return transcript.TruncateText(run.Reply, maxResult), nil
	}
	page, err := f.Client.History(&abi.HistoryRequest{SessionKey: f.child, Limit: lookBack, ExcludeRoles: []string{"user", "assistant"}})
	if err != nil {
		return "", err
	}
	for i := range page.Messages {
		m := gjson.Parse(view.String(page.Messages[i].JSON))
		switch m.Get("role").Str {
		case "toolResult", "tool":
			if text := strings.TrimSpace(textOf(m.Get("content"))); text != "" {
				return transcript.Excerpt(text, transcript.MaxText), nil
			}
		}
	}
	return "", nil
}

// textOf returns the texts in a message's content.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	if !content.IsArray() {
		return ""
	}
	var b strings.Builder
	content.ForEach(func(_, block gjson.Result) bool {
		if text := block.Get("text").Str; text != "" {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(text)
		}
		return true
	})
	return b.String()
}

// reportOf returns the report about the child's run. answer is the answer of the announce
// run, or "" if the announce run failed.
func (f *spawnFlow) reportOf(run *abi.Run, result, answer string) string {
	r := announce.Report{Outcome: run.Status, Stats: announce.Stats{
		StartedAt: run.StartedAt, EndedAt: run.EndedAt, Usage: run.Usage, Key: f.View.Show(f.child),
	}}
	if f.row != nil {
		r.Stats.SessionID = f.row.SessionID
		if !f.deletes {
			r.Stats.Transcript = f.row.TranscriptPath
		}
	}
	r.Result, r.Notes = announce.Read(answer)
	if r.Result == "" {
		r.Result = announce.Strip(result)
	}
	r.Notes = withReason(transcript.TruncateText(r.Notes, maxNotes), run)
	r.Result = transcript.TruncateText(r.Result, maxResult)
	return r.Text(f.Settings.Portuguese)
}

// withReason returns notes with the error of an unsuccessful run, which the child's agent
// may not have known.
func withReason(notes string, run *abi.Run) string {
	if run.Status == abi.RunDone || run.Error == "" {
		return notes
	}
	// The reason goes into one line, because output of programs may look like a report.
	reason := strings.Join(strings.Fields(transcript.Excerpt(run.Error, maxReason)), " ")
	switch {
	case notes == "":
		return reason
	case strings.Contains(notes, reason):
		return notes
	}
	return notes + " (" + reason + ")"
}
