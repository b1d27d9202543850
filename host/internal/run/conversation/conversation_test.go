package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/run/conversation"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

func TestParse(t *testing.T) {
	for raw, want := range map[string]string{
		`{"role":"user","content":"plain"}`: `user "plain" []`,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]}`:              `user "a\n\nb" []`,
		`{"role":"user","content":[{"type":"toolCall","id":"a","name":"n","arguments":{}}]}`:                                         `user "" []`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},7,{"type":"text","text":7},{"type":"text","text":"a"}]}`: `assistant "a" []`,
		`{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"n"},{"type":"toolCall","id":"","name":"n"}]}`:            `assistant "" [{a n {}}]`,
		`{"role":"assistant","content":null,"usage":"none","model":7}`:                                                               `assistant "" []`,
		`{"role":"tool","toolCallId":"a","content":"x"}`:                                                                             `toolResult "x" []`,
		`{"role":"toolResult","toolCallId":7,"content":{"a":1}}`:                                                                     `toolResult "" []`,
		`{"role":"system","content":"x"}`:                                                                                            `false`,
		`{"role":7}`:                                                                                                                 `false`,
		`[]`:                                                                                                                         `false`,
		`{"role":`:                                                                                                                   `false`,
	} {
		m, ok := conversation.Parse(json.RawMessage(raw))
		var calls []string
		for _, c := range m.Calls {
			calls = append(calls, fmt.Sprintf("{%s %s %s}", c.ID, c.Tool, c.Args))
		}
		got := fmt.Sprintf("%s %q %v", m.Role, m.Text, calls)
		if !ok {
			got = "false"
		}
		if got != want {
			t.Errorf("%s\n is %s\nwant %s", raw, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	var messages []json.RawMessage
	for _, m := range []string{
		`{"role":"toolResult","toolCallId":"a","content":"of nobody"}`,
		`{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"n"},{"type":"toolCall","id":"b","name":"n"}]}`,
		`{"role":"toolResult","toolCallId":"b","content":"of b"}`,
		`{"role":"toolResult","toolCallId":"b","content":"of b again"}`,
		`{"role":"user","content":"hello"}`,
		`{"role":"toolResult","toolCallId":"a","content":"too late"}`,
		`{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"n"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"kept"},{"type":"toolCall","id":"a","name":"n"}]}`,
	} {
		messages = append(messages, json.RawMessage(m))
	}
	var got []string
	for _, r := range conversation.Complete(conversation.Rounds(messages)) {
		line := r.Role + " " + r.Text
		for i, result := range r.Results {
			line += " " + r.Calls[i].ID + "=" + result.Text
		}
		got = append(got, line)
	}
	if want := "assistant  b=of b|user hello|assistant kept"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

func TestArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	for written, want := range map[string]string{
		"":                 `{}`,
		" \n":              `{}`,
		` {"a":1} `:        `{"a":1}`,
		`{"a":1`:           `"{\"a\":1"`,
		`{"a":1,"a":2}`:    `"{\"a\":1,\"a\":2}"`,
		"{\"a\":\"\xff\"}": "\"{\\\"a\\\":\\\"\uFFFD\\\"}\"",
		`[1]`:              `[1]`,
		deep:               fmt.Sprintf("%q", deep),
	} {
		if got := string(conversation.Arguments(written)); got != want {
			t.Errorf("%q is %s, want %s", written, got, want)
		}
	}
}

// begin starts a round of calls of one tool with the given arguments.
func begin(t *testing.T, turn *runner.Turn, args ...string) (*conversation.Run, *conversation.Round) {
	t.Helper()
	run, err := conversation.Resume(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	m := conversation.Message{Role: conversation.Assistant}
	for _, a := range args {
		m.Calls = append(m.Calls, conversation.Call{ID: fmt.Sprint("c", len(run.Rounds), len(m.Calls)), Tool: "sessions_send", Args: conversation.Arguments(a)})
	}
	r, err := run.Begin(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return run, r
}

// If a call was answered in an earlier attempt, a later attempt that makes an equal
// call repeats the first one and gets the second answer.
func TestEqualCalls(t *testing.T) {
	s := runnertest.NewSession()
	for _, text := range []string{`"one"`, `"two"`, `"three"`} {
		s.Answer("sessions_send", &runner.Answer{Result: json.RawMessage(text)})
	}
	first := s.Turn("hello")
	run, r := begin(t, first, `{"a":1,"b":2}`, `{"b":3}`)
	if err := run.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	run, r = begin(t, s.Retry(first), `{"b":2, "a":1}`)
	if err := run.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if r.Results[0].Text != `"three"` || len(s.Calls()) != 3 {
		t.Errorf("the answer is %s after %v", r.Results[0].Text, s.Calls())
	}
}

// An attempt that is no longer the newest executes no call.
func TestStaleAttempt(t *testing.T) {
	s := runnertest.NewSession()
	first := s.Turn("hello")
	run, r := begin(t, first, "{}")
	s.OnCall = func(context.Context, *runnertest.ToolCall) error {
		s.Retry(first)
		return nil
	}
	if err := run.Finish(t.Context(), r); !errors.Is(err, runnertest.ErrStale) {
		t.Error(err)
	}
	if _, err := run.Begin(t.Context(), r.Message); !errors.Is(err, runnertest.ErrStale) {
		t.Error(err)
	}
	if got := strings.Join(s.Roles(), " "); got != "assistant" {
		t.Errorf("stored %s", got)
	}
}

func TestJSON(t *testing.T) {
	failed := &conversation.Message{Role: conversation.ToolResult, CallID: "a", Tool: "n", Text: "a\xff<b>", Failed: true}
	if got, want := string(failed.JSON()), `{"role":"toolResult","toolCallId":"a","toolName":"n","content":[{"type":"text","text":"a`+"\uFFFD"+`<b>"}],"isError":true,"timestamp":`; !strings.HasPrefix(strings.ReplaceAll(got, `\ufffd`, "\uFFFD"), want) {
		t.Errorf("%s, want %s", got, want)
	}
	if at := gjson.GetBytes(failed.JSON(), "timestamp"); at.Int() < 1.7e12 {
		t.Errorf("timestamp %s is not in milliseconds", at.Raw)
	}
}
