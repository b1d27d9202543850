package telegram_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/delivery/telegram"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/sink/sinktest"
)

const token = "123456:AAF-secretpart_x"

var (
	accept  = sinktest.Answer(200, `{"ok":true,"result":{"message_id":7,"chat":{"id":-100,"type":"supergroup"},"date":1,"text":"x"}}`)
	subject = sinktest.Subject{New: open, Accept: accept, Target: abi.Target{Channel: "telegram", To: "-100"}, Secrets: []string{token, "AAF-secretpart_x"}}
)

func open(t testing.TB, base string) sink.Sink {
	t.Helper()
	s, err := telegram.New(&telegram.Options{Token: token, BaseURL: base + "/"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) { sinktest.Exercise(t, subject) }

func TestRequest(t *testing.T) {
	for _, test := range []struct {
		name   string
		target abi.Target
		want   string
	}{
		{"a chat", abi.Target{To: "7"}, `{"chat_id":7,"text":"x <b>"}`},
		{"a group", abi.Target{To: "-1001234567890"}, `{"chat_id":-1001234567890,"text":"x <b>"}`},
		{"a name", abi.Target{To: "@news"}, `{"chat_id":"@news","text":"x <b>"}`},
		{"a prefixed chat", abi.Target{To: "Telegram:7"}, `{"chat_id":7,"text":"x <b>"}`},
		{"a topic", abi.Target{To: "-100", ThreadID: "42"}, `{"chat_id":-100,"message_thread_id":42,"text":"x <b>"}`},
		{"the general topic", abi.Target{To: "-100", ThreadID: "1"}, `{"chat_id":-100,"text":"x <b>"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := sinktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				if want := "/bot" + token + "/sendMessage"; r.URL.Path != want {
					t.Errorf("%s, want %s", r.URL.Path, want)
				}
				accept(w, r)
			})
			if err := open(t, service.URL).Post(t.Context(), &sink.Message{IdempotencyKey: "d", Target: test.target, Text: "x <b>"}); err != nil {
				t.Fatal(err)
			}
			var got, want any
			if json.Unmarshal(service.Bodies()[0], &got) != nil || json.Unmarshal([]byte(test.want), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, want %s", service.Bodies()[0], test.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   string
		text   string
	}{
		{"a pause", 429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, "later 35s", "429: Too Many Requests"},
		{"a negative pause", 429, `{"ok":false,"error_code":429,"description":"slow","parameters":{"retry_after":-3}}`, "temporary", "slow"},
		{"no such chat", 400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, "permanent", "chat not found"},
		{"blocked", 403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`, "permanent", "blocked by the user"},
		{"a wrong token", 401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, "permanent", "Unauthorized"},
		{"an unknown bot", 404, `{"ok":false,"error_code":404,"description":"Not Found"}`, "permanent", "Not Found"},
		{"a moved group", 400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-1009}}`, "permanent", "id -1009: send there"},
		{"internal error", 500, `{"ok":false,"error_code":500,"description":"Internal Server Error"}`, "temporary", "Internal"},
		{"code instead of status", 200, `{"ok":false,"error_code":400,"description":"Bad Request"}`, "permanent", "400"},
		{"no code", 200, `{"ok":false}`, "temporary", `{"ok":false}`},
		{"success with an error status", 500, `{"ok":true}`, "temporary", "500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if text := subject.Expect(t, sinktest.Answer(test.status, test.body), test.kind); !strings.Contains(text, test.text) {
				t.Errorf("%q does not contain %q", text, test.text)
			}
		})
	}
}

func TestInvalidThreadID(t *testing.T) {
	service := sinktest.Serve(t, accept)
	err := open(t, service.URL).Post(t.Context(), &sink.Message{Target: abi.Target{To: "7", ThreadID: "17.2"}, Text: "x"})
	if sinktest.Kind(err) != "permanent" || len(service.Bodies()) != 0 {
		t.Errorf("%v, %d requests", err, len(service.Bodies()))
	}
}

func texts(t *testing.T, s *sinktest.Service) []string {
	t.Helper()
	var all []string
	for _, b := range s.Bodies() {
		var r struct{ Text string }
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		if n := len(utf16.Encode([]rune(r.Text))); n > 4096 {
			t.Errorf("a part has %d units", n)
		}
		all = append(all, r.Text)
	}
	return all
}

func TestLongText(t *testing.T) {
	slow := sinktest.Answer(429, `{"ok":false,"error_code":429,"description":"slow","parameters":{"retry_after":3}}`)
	service := sinktest.Serve(t, sinktest.Sequence(accept, slow, accept))
	dest := open(t, service.URL)
	first, second, third := strings.Repeat("a", 4000), strings.Repeat("😀", 2000), strings.Repeat("c", 300)
	m := &sink.Message{IdempotencyKey: "d", Target: abi.Target{To: "7"}, Text: first + "\n" + second + " " + third}

	if err := dest.Post(t.Context(), m); sinktest.Kind(err) != "later 3s" || !strings.Contains(err.Error(), "part 2 of 3") {
		t.Errorf("the first attempt: %v", err)
	}
	if err := dest.Post(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	// The first part is not posted again.
	if got := texts(t, service); len(got) != 4 || got[0] != first || got[1] != second || got[2] != second || got[3] != third {
		t.Errorf("%d parts: %.20q", len(got), got)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]*telegram.Options{
		"nil options": nil, "no token": {}, "no scheme": {Token: token, BaseURL: "localhost:80"}, "a query": {Token: token, BaseURL: "http://localhost/?a=b"},
	} {
		if _, err := telegram.New(o); err == nil || !strings.HasPrefix(err.Error(), "telegram: ") || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := telegram.New(&telegram.Options{Token: token}); err != nil {
		t.Errorf("the default address: %v", err)
	}
}
