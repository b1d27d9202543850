// Package conversation is the transcript as agents take part in it: messages read
// and written, and rounds of tool calls that survive a crash.
//
// A message is a JSON object of the transcript: a user's, an assistant's, or a
// tool's result. An assistant message that calls tools and the results that
// follow it are a Round. A round is stored before its tools are executed, and
// each result as soon as it is there, so that another attempt can go on where
// the one before was cut off:
//
//	nothing stored        the attempt asks the model again
//	calls, not all done   the rest is executed; the host answers what was asked before
//	calls, all done       the model is told
package conversation

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
)

// Roles of messages. Messages of other roles are not for agents.
const (
	User       = "user"
	Assistant  = "assistant"
	ToolResult = "toolResult"
)

// Message is what agents care about in a message.
type Message struct {
	Role  string
	Text  string // the text blocks, with an empty line between them; thinking left out
	Calls []Call // of an assistant

	CallID string // of a tool's result
	Tool   string
	Failed bool

	Model string // of an assistant, when known
	Usage *abi.Usage
}

// Call is a tool call of an assistant.
type Call struct {
	ID   string
	Tool string
	Args json.RawMessage // JSON; a text if the model wrote no usable object
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

// Parse reads a message of the transcript. Unknown content is left out. ok is
// false for what is no message of one of the roles above.
func Parse(raw json.RawMessage) (m Message, ok bool) {
	// Transcripts come from many writers: one member at a time, so that an odd
	// one costs only itself.
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

// JSON returns the message as it is appended to the transcript. Bytes that are
// not UTF-8 become U+FFFD.
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

// encode is json.Marshal without its escapes for HTML. It is only given values
// that can be encoded: Args of a Call are JSON.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("conversation: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
