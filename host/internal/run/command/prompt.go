package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

// prompt returns the program's standard input:
//
//	<context>
//	the sender and the purpose of the message
//	</context>
//
//	<transcript>
//	{"role":"user","text":"an earlier message"}
//	{"role":"assistant","text":"its answer"}
//	</transcript>
//
//	the message
//
// An empty block is omitted together with the blank line after it, so without context
// and history the prompt is only the message. The transcript has one JSON object per
// line, oldest first; tool calls and their results are omitted. The text inside a
// block cannot contain its end tag. The prompt ends with one line break.
func (rn *Runner) prompt(ctx context.Context, t *runner.Turn) (string, error) {
	var b strings.Builder
	if context := strings.TrimSpace(t.Context); context != "" {
		fmt.Fprintf(&b, "<context>\n%s\n</context>\n\n", strings.ReplaceAll(context, "</context>", "< /context>"))
	}
	if rn.o.HistoryMessages > 0 {
		history, err := t.Transcript.History(ctx, rn.o.HistoryMessages, rn.o.HistoryBytes)
		if err != nil {
			return "", fmt.Errorf("read the history: %w", err)
		}
		if lines := transcriptLines(history); lines != "" {
			fmt.Fprintf(&b, "<transcript>\n%s</transcript>\n\n", lines)
		}
	}
	b.WriteString(t.Message)
	b.WriteByte('\n')
	return runner.Text(b.String()), nil
}

func transcriptLines(history []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range history {
		m, ok := conversation.Parse(raw)
		if !ok || m.Text == "" || m.Role == conversation.ToolResult {
			continue
		}
		// Marshalling two strings cannot fail, and escapes < and >.
		line, _ := json.Marshal(struct {
			Role string `json:"role"`
			Text string `json:"text"`
		}{m.Role, m.Text})
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
