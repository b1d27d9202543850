package openai

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	openai "github.com/openai/openai-go/v3"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

// maxCalls is the maximum number of tool calls in a message.
const maxCalls = 128

// assembly assembles a message from its chunks.
type assembly struct {
	maxText int

	text, refusal strings.Builder
	calls         []*partialCall
	finish        string
	model         string
	usage         *abi.Usage
}

type partialCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

// add adds a chunk.
func (s *assembly) add(chunk *openai.ChatCompletionChunk) error {
	if chunk.Model != "" {
		s.model = chunk.Model
	}
	if chunk.JSON.Usage.Valid() {
		s.usage = usage(&chunk.Usage) // an endpoint that repeats the usage sends totals
	}
	for i := range chunk.Choices {
		c := &chunk.Choices[i]
		if c.Index != 0 {
			continue
		}
		s.text.WriteString(c.Delta.Content)
		s.refusal.WriteString(c.Delta.Refusal)
		if s.text.Len() > s.maxText {
			return permanent("the answer is longer than %d bytes", s.maxText)
		}
		for j := range c.Delta.ToolCalls {
			if err := s.addCall(&c.Delta.ToolCalls[j]); err != nil {
				return err
			}
		}
		if c.FinishReason != "" {
			s.finish = c.FinishReason
		}
	}
	return nil
}

func (s *assembly) addCall(d *openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	p := s.call(d)
	if p == nil {
		if len(s.calls) == maxCalls {
			return permanent("the model called more than %d tools at once", maxCalls)
		}
		p = &partialCall{index: d.Index}
		s.calls = append(s.calls, p)
	}
	if p.id == "" {
		p.id = d.ID
	}
	if p.name == "" {
		p.name = d.Function.Name
	}
	p.args.WriteString(d.Function.Arguments)
	return nil
}

// call returns the call that a piece continues, or nil if the piece begins a call.
// Some endpoints send every call in one piece and number them all 0; there, a new
// call is recognised by another id, or by a name after complete arguments.
func (s *assembly) call(d *openai.ChatCompletionChunkChoiceDeltaToolCall) *partialCall {
	for i := len(s.calls) - 1; i >= 0; i-- {
		p := s.calls[i]
		if p.index != d.Index {
			continue
		}
		another := d.ID != "" && p.id != "" && d.ID != p.id ||
			d.ID == "" && d.Function.Name != "" && json.Valid([]byte(p.args.String()))
		if another {
			return nil
		}
		return p
	}
	return nil
}

// message returns the message after the end of the stream.
func (s *assembly) message() (*conversation.Message, error) {
	m := &conversation.Message{
		Role:  conversation.Assistant,
		Text:  withoutThinking(runner.Text(s.text.String())),
		Model: runner.Text(s.model),
		Usage: s.usage,
	}
	if m.Text == "" {
		m.Text = runner.Text(s.refusal.String())
	}
	switch {
	case s.finish == "":
		return nil, transient("broke off in the middle of an answer")
	case s.finish == "content_filter":
		return nil, permanent("the endpoint's content filter blocked the answer")
	case s.finish == "length" && len(s.calls) > 0:
		return nil, permanent("the model reached its limit of tokens in the middle of a tool call")
	case s.finish == "length" && m.Text == "":
		return nil, permanent("the model reached its limit of tokens before it answered")
	}
	ids := make(map[string]bool, len(s.calls))
	for _, p := range s.calls {
		if p.name == "" {
			return nil, transient("called a tool without a name")
		}
		id := runner.Text(p.id)
		if id == "" || ids[id] {
			id = "call_" + rand.Text()
		}
		ids[id] = true
		m.Calls = append(m.Calls, conversation.Call{ID: id, Tool: runner.Text(p.name), Args: conversation.Arguments(p.args.String())})
	}
	return m, nil
}

func usage(u *openai.CompletionUsage) *abi.Usage {
	total := u.TotalTokens
	if total == 0 {
		total = u.PromptTokens + u.CompletionTokens
	}
	return &abi.Usage{Input: &u.PromptTokens, Output: &u.CompletionTokens, Total: &total}
}

// withoutThinking removes the <think> block with which some models begin their answer.
// An unterminated block extends to the end.
func withoutThinking(text string) string {
	const begin, end = "<think>", "</think>"
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), begin)
	if !ok {
		return text
	}
	_, answer, _ := strings.Cut(rest, end)
	return strings.TrimLeft(answer, " \t\r\n")
}
