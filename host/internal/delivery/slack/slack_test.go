package slack_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/delivery/slack"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/sink/sinktest"
)

const token = "xoxb-1234-secretsecret"

var (
	accept  = sinktest.Answer(200, `{"ok":true,"channel":"C1","ts":"1503435956.000247","message":{"text":"x"}}`)
	subject = sinktest.Subject{
		New: open, Accept: accept, Target: abi.Target{Channel: "slack", To: "C1"}, Secrets: []string{token},
		Key: func(_ http.Header, body []byte) string { return decode(body).ClientMsgID },
	}
)

type request struct {
	Channel, Text string
	ThreadTS      *string `json:"thread_ts"`
	ClientMsgID   string  `json:"client_msg_id"`
}

func decode(body []byte) (r request) {
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}
	}
	return r
}

func open(t testing.TB, base string) sink.Sink {
	t.Helper()
	s, err := slack.New(&slack.Options{Token: token, BaseURL: base + "/api"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) { sinktest.Exercise(t, subject) }

func TestRequest(t *testing.T) {
	service := sinktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s %v", r.URL.Path, r.Header)
		}
		accept(w, r)
	})
	dest := open(t, service.URL)
	for _, target := range []abi.Target{{To: "C1", ThreadID: "17.2"}, {To: "channel:C1"}, {To: "slack:user:U1"}} {
		if err := dest.Post(t.Context(), &sink.Message{IdempotencyKey: "d", Target: target, Text: "a < b && <!channel>"}); err != nil {
			t.Fatal(err)
		}
	}
	bodies := service.Bodies()
	first, second, third := decode(bodies[0]), decode(bodies[1]), decode(bodies[2])
	if first.Channel != "C1" || first.ThreadTS == nil || *first.ThreadTS != "17.2" || first.Text != "a &lt; b &amp;&amp; &lt;!channel&gt;" {
		t.Errorf("%s", bodies[0])
	}
	if second.Channel != "C1" || second.ThreadTS != nil || third.Channel != "U1" {
		t.Errorf("%s, %s", bodies[1], bodies[2])
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first.ClientMsgID) {
		t.Errorf("%q is not a UUID", first.ClientMsgID)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		status int
		name   string
		kind   string
		header []string
	}{
		{200, "channel_not_found", "permanent", nil},
		{200, "not_in_channel", "permanent", nil},
		{200, "invalid_auth", "permanent", nil},
		{200, "is_archived", "permanent", nil},
		{200, "msg_too_long", "permanent", nil},
		{200, "something_new", "permanent", nil},
		{200, "internal_error", "temporary", nil},
		{200, "fatal_error", "temporary", nil},
		{500, "fatal_error", "temporary", nil},
		{200, "service_unavailable", "temporary", nil},
		{200, "ratelimited", "temporary", nil},
		{200, "ratelimited", "later 12s", []string{"Retry-After: 12"}},
		{429, "ratelimited", "later 30s", []string{"Retry-After: 30"}},
		{503, "something_new", "later 1s", []string{"Retry-After: 1"}},
		{403, "something_new", "permanent", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := sinktest.Answer(test.status, `{"ok":false,"error":"`+test.name+`"}`, test.header...)
			if text := subject.Expect(t, answer, test.kind); !strings.Contains(text, test.name) {
				t.Errorf("%q does not name the error", text)
			}
		})
	}
}

func TestLongText(t *testing.T) {
	service := sinktest.Serve(t, accept)
	text := strings.Repeat("&", 10_000) // five characters each when escaped
	if err := open(t, service.URL).Post(t.Context(), &sink.Message{IdempotencyKey: "d", Target: subject.Target, Text: text}); err != nil {
		t.Fatal(err)
	}
	ids, total := map[string]bool{}, 0
	for _, b := range service.Bodies() {
		r := decode(b)
		if len(r.Text) > 40_000 {
			t.Errorf("a part has %d characters", len(r.Text))
		}
		ids[r.ClientMsgID] = true
		total += len(r.Text) / len("&amp;")
	}
	if len(ids) != 2 || total != len(text) {
		t.Errorf("%d ids, %d characters", len(ids), total)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]*slack.Options{"nil options": nil, "no token": {}, "no scheme": {Token: token, BaseURL: "localhost:80"}} {
		if _, err := slack.New(o); err == nil || !strings.HasPrefix(err.Error(), "slack: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := slack.New(&slack.Options{Token: token}); err != nil {
		t.Errorf("the default address: %v", err)
	}
}
