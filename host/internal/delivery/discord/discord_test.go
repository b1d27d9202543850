package discord_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/delivery/discord"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/sink/sinktest"
)

const token = "MTk4.secret.secretsecret"

var (
	accept  = sinktest.Answer(200, `{"id":"334385199974967042","channel_id":"290926798999357250","content":"x","nonce":"y"}`)
	subject = sinktest.Subject{
		New: open, Accept: accept, Target: abi.Target{Channel: "discord", To: "290926798999357250"}, Secrets: []string{token},
		Key: func(_ http.Header, body []byte) string { return decode(body).Nonce },
	}
)

type request struct {
	Content         string
	Nonce           string
	EnforceNonce    bool                     `json:"enforce_nonce"`
	AllowedMentions struct{ Parse []string } `json:"allowed_mentions"`
}

func decode(body []byte) (r request) {
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}
	}
	return r
}

func open(t testing.TB, base string) sink.Sink {
	t.Helper()
	s, err := discord.New(&discord.Options{Token: token, BaseURL: base + "/api/v10"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) { sinktest.Exercise(t, subject) }

func TestRequest(t *testing.T) {
	var paths []string
	service := sinktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		if r.Header.Get("Authorization") != "Bot "+token || !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
			t.Errorf("%v", r.Header)
		}
		accept(w, r)
	})
	dest := open(t, service.URL)
	for _, target := range []abi.Target{{To: "1"}, {To: "channel:2"}, {To: "3", ThreadID: "4"}} {
		if err := dest.Post(t.Context(), &sink.Message{IdempotencyKey: "d", Target: target, Text: "@everyone <b>"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(paths); got != "[/api/v10/channels/1/messages /api/v10/channels/2/messages /api/v10/channels/4/messages]" {
		t.Error(got)
	}
	r := decode(service.Bodies()[0])
	if r.Content != "@everyone <b>" || !r.EnforceNonce || r.Nonce == "" || len(r.Nonce) > 25 || fmt.Sprint(r.AllowedMentions.Parse) != "[users]" {
		t.Errorf("%s", service.Bodies()[0])
	}
}

func TestInvalidChannelID(t *testing.T) {
	service := sinktest.Serve(t, accept)
	for _, to := range []string{"", "user:7", "general", "1/../2", "-1"} {
		err := open(t, service.URL).Post(t.Context(), &sink.Message{Target: abi.Target{To: to}, Text: "x"})
		if sinktest.Kind(err) != "permanent" {
			t.Errorf("%q: %v", to, err)
		}
	}
	if n := len(service.Bodies()); n != 0 {
		t.Errorf("%d requests", n)
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
		{"a pause", 429, `{"message":"You are being rate limited.","retry_after":1.5,"global":false}`, "later 1.5s", "rate limited"},
		{"a global pause", 429, `{"message":"You are being rate limited.","retry_after":64.5,"global":true}`, "later 1m4.5s", "rate limited"},
		{"slow mode", 400, `{"message":"This action cannot be performed due to slowmode rate limit","code":20016,"retry_after":3}`, "later 3s", "20016"},
		{"overload", 503, `{"message":"API resource is currently overloaded. Try again a little later","code":130000}`, "temporary", "130000"},
		{"an unknown channel", 404, `{"message":"Unknown Channel","code":10003}`, "permanent", "check the channel's id"},
		{"no access", 403, `{"message":"Missing Access","code":50001}`, "permanent", "cannot see the channel"},
		{"no permission", 403, `{"message":"Missing Permissions","code":50013}`, "permanent", "permission to send"},
		{"a wrong token", 401, `{"message":"401: Unauthorized","code":0}`, "permanent", "Unauthorized"},
		{"a bad body", 400, `{"message":"Invalid Form Body","code":50035}`, "permanent", "50035"},
		{"internal error", 500, `{"message":"500: Internal Server Error","code":0}`, "temporary", "500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if text := subject.Expect(t, sinktest.Answer(test.status, test.body), test.kind); !strings.Contains(text, test.text) {
				t.Errorf("%q does not contain %q", text, test.text)
			}
		})
	}
}

// chat is a channel that enforces nonces like Discord.
type chat struct {
	mu     sync.Mutex
	nonces map[string]bool
	texts  []string
	lost   int // number of the request, counted from 1, whose answer is lost
	n      int
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	m := decode(body)
	if !c.nonces[m.Nonce] {
		c.nonces[m.Nonce] = true
		c.texts = append(c.texts, m.Content)
	}
	if c.n++; c.n == c.lost {
		panic(http.ErrAbortHandler)
	}
	accept(w, r)
}

// TestLongText loses the answer to the second part. A new sink without knowledge of the
// first attempt posts no part twice.
func TestLongText(t *testing.T) {
	c := &chat{nonces: map[string]bool{}, lost: 2}
	service := sinktest.Serve(t, c.ServeHTTP)
	parts := []string{strings.Repeat("a", 1990), strings.Repeat("b", 1990), strings.Repeat("c", 10)}
	m := &sink.Message{IdempotencyKey: "d", Target: subject.Target, Text: strings.Join(parts, "\n")}
	if err := open(t, service.URL).Post(t.Context(), m); sinktest.Kind(err) != "temporary" {
		t.Fatalf("the first attempt: %v", err)
	}
	if err := open(t, service.URL).Post(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(c.texts) != fmt.Sprint(parts) || c.n != 5 {
		t.Errorf("%d requests, texts %.10q", c.n, c.texts)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]*discord.Options{"nil options": nil, "no token": {}, "no scheme": {Token: token, BaseURL: "localhost:80"}} {
		if _, err := discord.New(o); err == nil || !strings.HasPrefix(err.Error(), "discord: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := discord.New(&discord.Options{Token: token}); err != nil {
		t.Errorf("the default address: %v", err)
	}
}
