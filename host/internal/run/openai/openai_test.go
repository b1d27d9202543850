package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/run/openai"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// open returns a runner for the endpoint that records its pauses and does not wait.
func open(t *testing.T, e *endpoint, o openai.Options) (*openai.Runner, *[]time.Duration) {
	t.Helper()
	o.BaseURL = e.url
	if o.Model == "" {
		o.Model = "small"
	}
	a, err := openai.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	a.SetWait(func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	})
	return a, &pauses
}

func TestRunner(t *testing.T) {
	runnertest.Exercise(t, func(t *testing.T, b runnertest.Behaviour) *runnertest.Subject {
		hanging, gone := make(chan struct{}), make(chan struct{})
		e := serve(t, func(w http.ResponseWriter, r *http.Request, body gjson.Result) {
			last := body.Get("messages.@reverse.0")
			switch {
			case b.Hang:
				defer close(gone)
				events(text("hm"))(w, r, body)
				close(hanging)
				<-r.Context().Done()
			case b.Error != "":
				status(400, "", fmt.Sprintf(`{"error":{"message":%q}}`, b.Error))(w, r, body)
			case b.Tool != "" && last.Get("role").Str == "user" && body.Get("tools").Exists():
				first, _ := json.Marshal(b.Args[:1])
				second, _ := json.Marshal(b.Args[1:])
				events(
					call(fmt.Sprintf(`{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":""}}`, b.Tool)),
					call(fmt.Sprintf(`{"index":0,"function":{"arguments":%s}}`, first)),
					call(fmt.Sprintf(`{"index":0,"function":{"arguments":%s}}`, second)),
					endTools, usage, done)(w, r, body)
			default:
				answer(strings.ReplaceAll(b.Text, "{{result}}", last.Get("content").Str))(w, r, body)
			}
		})
		a, _ := open(t, e, openai.Options{})
		s := &runnertest.Subject{Runner: a}
		if b.Hang {
			s.Hanging = hanging
			s.AssertStopped = func(*testing.T) { <-gone }
		}
		return s
	})
}

func run(t *testing.T, a *openai.Runner, turn *runner.Turn) *runner.Outcome {
	t.Helper()
	out, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantError(t *testing.T, a *openai.Runner, parts ...string) {
	t.Helper()
	out, err := a.Run(t.Context(), runnertest.NewSession().Turn("hello"))
	if err == nil {
		t.Fatalf("%+v, want an error", out)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

func TestPrompt(t *testing.T) {
	e := serve(t, answer("fine"))
	a, _ := open(t, e, openai.Options{APIKey: "sk-secret-key"})
	s := runnertest.NewSession()
	s.Add("user", "first")
	s.AddRaw(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"let me see"},{"type":"toolCall","id":"a","name":"sessions_list","arguments":{"limit":1}},{"type":"toolCall","id":"b","name":"lost","arguments":{}}]}`)
	s.AddRaw(`{"role":"toolResult","toolCallId":"a","toolName":"sessions_list","content":[{"type":"text","text":"{}"}]}`)
	s.AddRaw(`{"role":"toolResult","toolCallId":"z","toolName":"lost","content":[{"type":"text","text":"{}"}]}`)
	s.AddRaw(`{"role":"system","content":"obey"}`)
	s.AddRaw(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"lost","arguments":{}}]}`)
	s.AddRaw(`{"role":"user","content":"second"}`)
	turn := s.Turn("third")
	turn.Context, turn.Thinking, turn.Model = "You talk to main.", "low", "big"
	run(t, a, turn)

	body := e.requests()[0]
	want := `[{"content":"You talk to main.","role":"system"},` +
		`{"content":"first","role":"user"},` +
		`{"content":"let me see","tool_calls":[{"id":"a","function":{"arguments":"{\"limit\":1}","name":"sessions_list"},"type":"function"}],"role":"assistant"},` +
		`{"content":"{}","tool_call_id":"a","role":"tool"},` +
		`{"content":"second","role":"user"},` +
		`{"content":"third","role":"user"}]`
	if got := body.Get("messages").Raw; got != want {
		t.Errorf("messages\n%s\nwant\n%s", got, want)
	}
	for path, want := range map[string]string{
		"model": "big", "stream": "true", "stream_options.include_usage": "true", "reasoning_effort": "low",
		"tools.#": "2", "tools.1.type": "function", "tools.1.function.name": "sessions_send",
		"tools.1.function.parameters.required.0": "message",
	} {
		if got := body.Get(path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if got := e.headers[0].Get("Authorization"); got != "Bearer sk-secret-key" {
		t.Errorf("Authorization %q", got)
	}
}

func TestHistoryLimits(t *testing.T) {
	e := serve(t, answer("fine"))
	s := runnertest.NewSession()
	for range 60 {
		s.Add("user", "earlier")
	}
	for _, test := range []struct{ configured, want int }{{0, 51}, {3, 4}, {-1, 1}} {
		a, _ := open(t, e, openai.Options{HistoryMessages: test.configured})
		turn := s.Turn("hello")
		run(t, a, turn)
		asked := e.requests()
		if got := asked[len(asked)-1].Get("messages.#").Int(); got != int64(test.want) {
			t.Errorf("historyMessages %d: %d messages, want %d", test.configured, got, test.want)
		}
	}
}

// The SDK reads a dozen environment variables; none of them may reach an endpoint.
func TestEnvironment(t *testing.T) {
	other := serve(t, answer("wrong"))
	t.Setenv("OPENAI_API_KEY", "sk-of-somebody")
	t.Setenv("OPENAI_BASE_URL", other.url)
	t.Setenv("OPENAI_ORG_ID", "org-of-somebody")
	t.Setenv("OPENAI_PROJECT_ID", "project-of-somebody")
	t.Setenv("OPENAI_ADMIN_KEY", "admin-of-somebody")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: header-of-somebody")
	e := serve(t, answer("fine"))
	a, _ := open(t, e, openai.Options{})
	run(t, a, runnertest.NewSession().Turn("hello"))
	if len(other.requests()) != 0 {
		t.Error("the endpoint of the environment got a request")
	}
	for name, values := range e.headers[0] {
		if strings.Contains(strings.Join(values, " "), "of-somebody") {
			t.Errorf("the endpoint got %s: %v", name, values)
		}
	}
}

func TestOutcome(t *testing.T) {
	e := serve(t, answer("fine"))
	a, _ := open(t, e, openai.Options{})
	out := run(t, a, runnertest.NewSession().Turn("hello"))
	if out.Model != "real-1" || *out.Usage.Input != 10 || *out.Usage.Output != 5 || *out.Usage.Total != 15 {
		t.Errorf("model %q, usage %+v", out.Model, out.Usage)
	}
	a, _ = open(t, serve(t, events(text("fine"), endStop, done)), openai.Options{})
	if out = run(t, a, runnertest.NewSession().Turn("hello")); out.Usage != nil {
		t.Errorf("usage %+v of an endpoint that reports none", out.Usage)
	}
}

func TestText(t *testing.T) {
	reasoning := `{"choices":[{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm","content":null}}]}`
	refusal := `{"choices":[{"index":0,"delta":{"refusal":"I will not."}}]}`
	length := `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	for name, test := range map[string]struct {
		reply reply
		want  string
	}{
		"pieces":         {events(text("one "), text("two"), endStop, done), "one two"},
		"noDone":         {events(text("one"), endStop), "one"},
		"finishWithText": {events(`{"choices":[{"index":0,"delta":{"content":"one"},"finish_reason":"stop"}]}`), "one"},
		"otherChoices":   {events(text("one"), `{"choices":[{"index":1,"delta":{"content":"two"}}]}`, endStop), "one"},
		"reasoning":      {events(reasoning, text("one"), endStop), "one"},
		"think":          {events(text("\n<thi"), text("nk>hm</th"), text("ink>\n\none <think>two</think>"), endStop), "one <think>two</think>"},
		"thinkLater":     {answer("say <think>hm</think>"), "say <think>hm</think>"},
		"thinkOnly":      {answer("<think>hm"), ""},
		"refusal":        {events(refusal, endStop), "I will not."},
		"length":         {events(text("one tw"), length), "one tw"},
		"invalidUTF8":    {events(text("a\xff"), text("b"), endStop), "a\uFFFDb"},
		"otherFields": {func(w http.ResponseWriter, _ *http.Request, _ gjson.Result) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, ": ping\n\nid: 3\nretry: 5\nevent: x\ndata: %s\n\ndata:%s\r\n\r\n", text("one"), endStop)
		}, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, test.reply)
			a, _ := open(t, e, openai.Options{})
			if out := run(t, a, runnertest.NewSession().Turn("hello")); out.Text != test.want {
				t.Errorf("answer %q, want %q", out.Text, test.want)
			}
			if n := len(e.requests()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, address := range []string{"", "localhost:11434", "ftp://host/v1", "http://", "http://user:pass%zz@host"} {
		if _, err := openai.New(&openai.Options{BaseURL: address}); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: %v", address, err)
		}
	}
	a, err := openai.New(&openai.Options{BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, a, "no model is configured")
}
