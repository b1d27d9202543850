package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

// prompt returns what the program reads from standard input:
//
//	<context>
//	who sends and what for
//	</context>
//
//	<transcript>
//	{"role":"user","text":"an earlier message"}
//	{"role":"assistant","text":"its answer"}
//	</transcript>
//
//	the message
//
// A block that would be empty is left out with the line after it; so without
// context and history the prompt is the message alone. The transcript is one JSON
// object per line, oldest first, of what was said; tool calls and their results
// are left out. In neither block can anything end it before its time. The prompt
// ends with one line break.
func (a *Agent) prompt(ctx context.Context, t *runner.Turn) (string, error) {
	var b strings.Builder
	if context := strings.TrimSpace(t.Context); context != "" {
		fmt.Fprintf(&b, "<context>\n%s\n</context>\n\n", strings.ReplaceAll(context, "</context>", "< /context>"))
	}
	if a.o.HistoryMessages > 0 {
		history, err := t.Transcript.History(ctx, a.o.HistoryMessages, a.o.HistoryBytes)
		if err != nil {
			return "", fmt.Errorf("read the history: %w", err)
		}
		if lines := said(history); lines != "" {
			fmt.Fprintf(&b, "<transcript>\n%s</transcript>\n\n", lines)
		}
	}
	b.WriteString(t.Message)
	b.WriteByte('\n')
	return runner.Text(b.String()), nil
}

func said(history []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range history {
		m, ok := conversation.Parse(raw)
		if !ok || m.Text == "" || m.Role == conversation.ToolResult {
			continue
		}
		// Two texts can always be encoded; < and > are escaped.
		line, _ := json.Marshal(struct {
			Role string `json:"role"`
			Text string `json:"text"`
		}{m.Role, m.Text})
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
