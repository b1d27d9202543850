package spawn

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// Bounds of what is reported, in bytes. Together they stay below abi.MaxText.
const (
	maxResult = abi.MaxText - 64<<10
	maxNotes  = 32 << 10
)

// maxReason is how much of a run's error is reported, in characters.
const maxReason = 2000

// lookBack is among how many of the newest tool results one with a text is looked
// for.
const lookBack = 10

// resultOf is what came of the child's run: its final reply, else the newest tool
// result of its transcript, else nothing (S5.5).
func (f *errand) resultOf(run *abi.Run) (string, error) {
	if run.Reply != "" {
		return transcript.CutText(run.Reply, maxResult), nil
	}
	page, err := f.Client.History(&abi.HistoryRequest{SessionKey: f.child, Limit: lookBack, ExcludeRoles: []string{"user", "assistant"}})
	if err != nil {
		return "", err
	}
	for i := range page.Messages {
		m := gjson.Parse(view.String(page.Messages[i].JSON))
		switch m.Get("role").Str {
		case "toolResult", "tool":
			if text := strings.TrimSpace(said(m.Get("content"))); text != "" {
				return transcript.Excerpt(text, transcript.MaxText), nil
			}
		}
	}
	return "", nil
}

// said returns the texts of a message's content.
func said(content gjson.Result) string {
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

// reportOf makes the report of the child's run. answer is what the announce says,
// empty when that failed.
func (f *errand) reportOf(run *abi.Run, result, answer string) string {
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
	r.Notes = withReason(transcript.CutText(r.Notes, maxNotes), run)
	r.Result = transcript.CutText(r.Result, maxResult)
	return r.Text(f.Settings.Portuguese)
}

// withReason adds to notes why a run did not end well: whoever reads that it
// failed wants to know why, and the agent may not have.
func withReason(notes string, run *abi.Run) string {
	if run.Status == abi.RunDone || run.Error == "" {
		return notes
	}
	// In one line: what programs say on their way out may look like a report.
	reason := strings.Join(strings.Fields(transcript.Excerpt(run.Error, maxReason)), " ")
	switch {
	case notes == "":
		return reason
	case strings.Contains(notes, reason):
		return notes
	}
	return notes + " (" + reason + ")"
}
