package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/run/openai"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// Endpoints send a message that calls two tools in different forms.
func TestCallShapes(t *testing.T) {
	for name, chunks := range map[string][]string{
		"pieces": {
			call(`{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":"{\"n\""}}`),
			call(`{"index":1,"id":"b","type":"function","function":{"name":"two","arguments":"{\"n\""}}`, `{"index":0,"function":{"arguments":":1}"}}`),
			call(`{"index":1,"function":{"arguments":":2}"}}`),
		},
		"whole":        {call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"n\":1}"}}`, `{"index":1,"id":"b","function":{"name":"two","arguments":"{\"n\":2}"}}`)},
		"idsRepeated":  {call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"n\":"}}`), call(`{"index":0,"id":"a","function":{"arguments":"1}"}}`), call(`{"index":1,"id":"b","function":{"name":"two","arguments":"{\"n\":2}"}}`)},
		"indexIgnored": {call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"n\":1}"}}`), call(`{"index":0,"id":"b","function":{"name":"two","arguments":"{\"n\":2}"}}`)},
		"noIDs":        {call(`{"index":0,"id":"","function":{"name":"one","arguments":"{\"n\":1}"}}`, `{"index":0,"function":{"name":"two","arguments":"{\"n\":2}"}}`)},
		"equalIDs":     {call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{\"n\":1}"}}`, `{"index":1,"id":"a","function":{"name":"two","arguments":"{\"n\":2}"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, events(append(chunks, endTools, usage, done)...), answer("fine"))
			a, _ := open(t, e, openai.Options{})
			s := runnertest.NewSession()
			out := run(t, a, s.Turn("hello"))
			if got := fmt.Sprint(s.Calls()); got != `[one{"n":1} two{"n":2}]` {
				t.Errorf("calls %s", got)
			}
			if *out.Usage.Total != 30 {
				t.Errorf("usage %d, want the sum of both rounds", *out.Usage.Total)
			}
			m := e.requests()[1].Get("messages").Array()
			m = m[len(m)-3:]
			ids := []string{m[0].Get("tool_calls.0.id").Str, m[0].Get("tool_calls.1.id").Str}
			if ids[0] == "" || ids[1] == "" || ids[0] == ids[1] || m[1].Get("tool_call_id").Str != ids[0] || m[2].Get("tool_call_id").Str != ids[1] {
				t.Errorf("the model gets %v", m)
			}
		})
	}
}

// The message that calls tools is stored, with its usage, before the first tool is
// executed, and each result before the next tool.
func TestStoredBeforeExecuted(t *testing.T) {
	e := serve(t, events(text("<think>hm</think>I look."), call(`{"index":0,"id":"a","function":{"name":"one"}}`, `{"index":1,"id":"b","function":{"name":"two","arguments":"{}"}}`), endTools, usage), answer("fine"))
	a, _ := open(t, e, openai.Options{})
	s := runnertest.NewSession()
	var stored []int
	s.OnCall = func(_ context.Context, _ *runnertest.ToolCall) error {
		stored = append(stored, len(s.Appended()))
		return nil
	}
	run(t, a, s.Turn("hello"))
	if !slices.Equal(stored, []int{1, 2}) {
		t.Errorf("messages stored before each call: %v", stored)
	}
	first := gjson.ParseBytes(s.Appended()[0])
	for path, want := range map[string]string{
		"role": "assistant", "content.#": "3", "content.0.text": "I look.", "content.1.type": "toolCall",
		"content.1.id": "a", "content.1.name": "one", "content.1.arguments": "{}",
		"model": "real-1", "usage.input": "10", "usage.output": "5", "usage.totalTokens": "15", "stopReason": "toolUse",
	} {
		if got := first.Get(path).String(); got != want {
			t.Errorf("%s is %q, want %q in %s", path, got, want, first)
		}
	}
	second := gjson.ParseBytes(s.Appended()[1])
	if second.Get("toolCallId").Str != "a" || second.Get("toolName").Str != "one" || second.Get("content.0.text").Str != "{}" || second.Get("isError").Raw != "false" {
		t.Errorf("result %s", second)
	}
}

// A later attempt adds the usage of the earlier one and sends all its results to the
// model.
func TestSecondAttemptResumes(t *testing.T) {
	e := serve(t,
		events(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}`, `{"index":1,"id":"b","function":{"name":"two","arguments":"{}"}}`), endTools, usage),
		answer("fine"))
	a, _ := open(t, e, openai.Options{})
	s := runnertest.NewSession()
	s.OnCall = func(_ context.Context, c *runnertest.ToolCall) error {
		if c.Tool == "two" {
			return runnertest.ErrStale // as if the process had died here
		}
		return nil
	}
	first := s.Turn("hello")
	if out, err := a.Run(t.Context(), first); err == nil {
		t.Fatalf("%+v, want an error", out)
	}
	s.OnCall = nil
	out := run(t, a, s.Retry(first))
	if out.Text != "fine" || *out.Usage.Total != 30 {
		t.Errorf("%+v, usage %d", out, *out.Usage.Total)
	}
	if got := fmt.Sprint(s.Calls()); got != "[one{} two{}]" {
		t.Errorf("calls %s", got)
	}
	if got := strings.Join(s.Roles(), " "); got != "assistant toolResult toolResult" {
		t.Errorf("stored %s", got)
	}
	if asked := e.requests(); len(asked) != 2 || asked[1].Get(`messages.#(role=="user")#|#`).Int() != 1 {
		t.Errorf("asked %v", asked)
	}
}

// The model gets an error for a call that cannot be executed, and continues.
func TestRefusedCalls(t *testing.T) {
	s := runnertest.NewSession()
	s.OnCall = func(_ context.Context, c *runnertest.ToolCall) error {
		if c.Tool == "teleport" {
			return abi.NewError(abi.NotFound, `there is no tool "teleport"`)
		}
		return nil
	}
	e := serve(t, events(call(
		`{"index":0,"id":"a","function":{"name":"teleport","arguments":"{}"}}`,
		`{"index":1,"id":"b","function":{"name":"sessions_list","arguments":"{\"limit\": 1"}}`,
		`{"index":2,"id":"c","function":{"name":"sessions_list","arguments":"[1]"}}`,
	), endTools), answer("fine"))
	a, _ := open(t, e, openai.Options{})
	run(t, a, s.Turn("hello"))
	if got := fmt.Sprint(s.Calls()); got != "[teleport{}]" {
		t.Errorf("executed %s", got)
	}
	results := e.requests()[1].Get(`messages.#(role=="tool")#.content`).Array()
	for i, want := range []string{`there is no tool`, `not valid JSON`, `not a JSON object`} {
		if !strings.Contains(results[i].Str, want) || gjson.Get(results[i].Str, "status").Str != "error" {
			t.Errorf("result %d is %s, want %q", i, results[i].Str, want)
		}
	}
	for i := range 3 {
		if args := e.requests()[1].Get(fmt.Sprintf(`messages.1.tool_calls.%d.function.arguments`, i)).Str; !gjson.Valid(args) || !gjson.Parse(args).IsObject() {
			t.Errorf("the endpoint is sent the arguments %s", args)
		}
	}
	if got := gjson.GetBytes(s.Appended()[0], "content.1.arguments").Str; got != `{"limit": 1` {
		t.Errorf("the transcript shows the arguments %q", got)
	}
}

// A failure of the host ends the run; the model does not get it.
func TestHostFails(t *testing.T) {
	e := serve(t, events(call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}`), endTools))
	a, _ := open(t, e, openai.Options{})
	s := runnertest.NewSession()
	s.OnCall = func(context.Context, *runnertest.ToolCall) error {
		return abi.NewError(abi.Internal, "the store is gone")
	}
	if out, err := a.Run(t.Context(), s.Turn("hello")); err == nil || !strings.Contains(err.Error(), "the store is gone") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestMaxRounds(t *testing.T) {
	n := 0
	e := serve(t, func(w http.ResponseWriter, r *http.Request, body gjson.Result) {
		n++
		events(call(fmt.Sprintf(`{"index":0,"id":"a%d","function":{"name":"one","arguments":"{}"}}`, n)), endTools)(w, r, body)
	})
	a, _ := open(t, e, openai.Options{})
	s := runnertest.NewSession()
	out, err := a.Run(t.Context(), s.Turn("hello"))
	if err == nil || !strings.Contains(err.Error(), "20 times") || len(s.Calls()) != 20 {
		t.Errorf("%+v, %v; %d calls", out, err, len(s.Calls()))
	}
}

func TestToolsWithoutSchema(t *testing.T) {
	e := serve(t, answer("fine"))
	a, _ := open(t, e, openai.Options{})
	turn := runnertest.NewSession().Turn("hello")
	turn.Tools = bare{turn.Tools}
	run(t, a, turn)
	if got := e.requests()[0].Get("tools").Raw; got != `[{"function":{"name":"bare","description":"Bare."},"type":"function"}]` {
		t.Errorf("tools %s", got)
	}
}

type bare struct{ runner.Tools }

func (bare) List() []abi.Tool { return []abi.Tool{{Name: "bare", Description: "Bare."}} }
