// Package conversation reads and writes messages of the transcript for runners, and
// executes rounds of tool calls so that they survive a crash.
//
// A message is a JSON object of the transcript: a user's, an assistant's, or a tool's
// result. An assistant message that calls tools, together with the results that
// follow it, is a Round. The message is stored before its tools are executed, and each
// result as soon as its tool has answered, so that a later attempt can resume the run:
//
//	nothing stored              the attempt asks the model again
//	calls, some without result  the attempt executes those
//	calls, all with results     the attempt sends the results to the model
package conversation

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
)

// Roles of messages. Runners ignore messages with other roles.
const (
	User       = "user"
	Assistant  = "assistant"
	ToolResult = "toolResult"
)

// Message is the part of a transcript message that runners use.
type Message struct {
	Role  string
	Text  string // the text blocks, joined by blank lines; without thinking
	Calls []Call // of an assistant message

	CallID string // of a tool result
	Tool   string
	Failed bool

	Model string // of an assistant message, if known
	Usage *abi.Usage
}

// Call is a tool call of an assistant.
type Call struct {
	ID   string
	Tool string
	Args json.RawMessage // JSON; a string if the model wrote invalid JSON
}

type wireMessage struct {
	Role       string          `json:"role"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Content    json.RawMessage `json:"content"`
	IsError    *bool           `json:"isError,omitempty"`
	Timestamp  int64           `json:"timestamp,omitempty"`
	Model      string          `json:"model,omitempty"`
	Usage      *wireUsage      `json:"usage,omitempty"`
	StopReason string          `json:"stopReason,omitempty"`
}

type wireUsage struct {
	Input  *int64 `json:"input,omitempty"`
	Output *int64 `json:"output,omitempty"`
	Total  *int64 `json:"totalTokens,omitempty"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Parse reads a message of the transcript. It ignores unknown content, and reads the
// role tool as ToolResult. ok is false if raw is not a message with a known role.
func Parse(raw json.RawMessage) (m Message, ok bool) {
	// Transcripts have many writers. Members are decoded one at a time, so that an
	// invalid member does not affect the others.
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return m, false
	}
	member := func(name string, to any) { _ = json.Unmarshal(members[name], to) }
	member("role", &m.Role)
	switch m.Role {
	case User, Assistant:
	case ToolResult, "tool":
		m.Role = ToolResult
	default:
		return m, false
	}
	member("toolCallId", &m.CallID)
	member("toolName", &m.Tool)
	member("isError", &m.Failed)
	member("model", &m.Model)
	var u *wireUsage
	if member("usage", &u); u != nil {
		m.Usage = &abi.Usage{Input: u.Input, Output: u.Output, Total: u.Total}
	}
	m.content(members["content"])
	return m, true
}

func (m *Message) content(raw json.RawMessage) {
	if json.Unmarshal(raw, &m.Text) == nil {
		return
	}
	m.Text = ""
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return
	}
	var texts []string
	for _, raw := range blocks {
		var b wireBlock
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch {
		case b.Type == "text" && b.Text != nil && *b.Text != "":
			texts = append(texts, *b.Text)
		case b.Type == "toolCall" && m.Role == Assistant && b.ID != "" && b.Name != "":
			if len(b.Arguments) == 0 {
				b.Arguments = json.RawMessage("{}")
			}
			m.Calls = append(m.Calls, Call{ID: b.ID, Tool: b.Name, Args: b.Arguments})
		}
	}
	m.Text = strings.Join(texts, "\n\n")
}

// JSON returns the message in the form that is appended to the transcript. Bytes that
// are not UTF-8 become U+FFFD.
func (m *Message) JSON() json.RawMessage {
	w := wireMessage{Role: m.Role, ToolCallID: m.CallID, ToolName: m.Tool, Timestamp: time.Now().UnixMilli(), Model: m.Model}
	blocks := make([]wireBlock, 0, 1+len(m.Calls))
	if m.Text != "" || len(m.Calls) == 0 {
		blocks = append(blocks, wireBlock{Type: "text", Text: &m.Text})
	}
	for _, c := range m.Calls {
		blocks = append(blocks, wireBlock{Type: "toolCall", ID: c.ID, Name: c.Tool, Arguments: c.Args})
	}
	w.Content = encode(blocks)
	switch {
	case m.Role == ToolResult:
		w.IsError = &m.Failed
	case len(m.Calls) > 0:
		w.StopReason = "toolUse"
	}
	if u := m.Usage; u != nil {
		w.Usage = &wireUsage{Input: u.Input, Output: u.Output, Total: u.Total}
	}
	return encode(&w)
}

// encode is json.Marshal without HTML escaping. v must be encodable: Args of a Call
// are JSON.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("conversation: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
