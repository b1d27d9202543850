package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
)

// prompt is the request to the model: system message, history, the user message, and
// the run's rounds.
type prompt openai.ChatCompletionNewParams

// efforts are the levels of thinking that have the same name at the endpoints.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh"}

func (rn *Runner) prompt(ctx context.Context, t *runner.Turn) (*prompt, error) {
	p := &prompt{Model: t.Model}
	if p.Model == "" {
		p.Model = rn.o.Model
	}
	if p.Model == "" {
		return nil, errors.New("no model is configured; set the agent's model, or its runner's")
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	if slices.Contains(efforts, t.Thinking) {
		p.ReasoningEffort = shared.ReasoningEffort(t.Thinking)
	}
	if err := p.offer(t.Tools); err != nil {
		return nil, err
	}
	if system := strings.TrimSpace(t.Context); system != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(runner.Text(system)))
	}
	if rn.o.HistoryMessages > 0 {
		history, err := t.Transcript.History(ctx, rn.o.HistoryMessages, rn.o.HistoryBytes)
		if err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
		for _, r := range conversation.Complete(conversation.Rounds(history)) {
			p.add(r)
		}
	}
	p.Messages = append(p.Messages, openai.UserMessage(runner.Text(t.Message)))
	return p, nil
}

// offer adds the descriptions of the tools.
func (p *prompt) offer(tools runner.Tools) error {
	if tools == nil {
		return nil
	}
	for _, tool := range tools.List() {
		f := shared.FunctionDefinitionParam{Name: tool.Name, Description: openai.String(tool.Description)}
		if len(tool.InputSchema) > 0 {
			if err := json.Unmarshal(tool.InputSchema, &f.Parameters); err != nil {
				return fmt.Errorf("the input schema of %s: %w", tool.Name, err)
			}
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	return nil
}

// add adds a message, with its calls and their results.
func (p *prompt) add(r *conversation.Round) {
	if r.Role == conversation.User {
		p.Messages = append(p.Messages, openai.UserMessage(r.Text))
		return
	}
	m := &openai.ChatCompletionAssistantMessageParam{}
	if r.Text != "" {
		m.Content.OfString = param.NewOpt(r.Text)
	}
	for _, c := range r.Calls {
		args := string(c.Args)
		if !strings.HasPrefix(args, "{") {
			// Endpoints parse the arguments of earlier calls. The tool's result
			// describes the error in these.
			args = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Tool, Arguments: args},
			},
		})
	}
	p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant: m})
	for i, result := range r.Results {
		p.Messages = append(p.Messages, openai.ToolMessage(runner.Text(result.Text), r.Calls[i].ID))
	}
}
