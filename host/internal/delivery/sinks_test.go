package delivery_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/delivery"
	"github.com/parley-wasm/parley/host/sink"
)

func parse(t *testing.T, settings string) *config.Config {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, s *delivery.Sinks, channel string) sink.Sink {
	t.Helper()
	sink, err := s.Sink(channel)
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

func message(channel string) *sink.Message {
	return &sink.Message{IdempotencyKey: "key-1", Target: abi.Target{Channel: channel, To: "123"}, Text: "the text", SessionKey: "agent:main:main"}
}

// TestSinksAreReused asserts that a sink is kept until its own settings change.
func TestSinksAreReused(t *testing.T) {
	const kept = `a: {sink: "webhook", url: "http://127.0.0.1:1/"}`
	s := delivery.NewSinks(parse(t, `{delivery: {channels: {`+kept+`, b: {sink: "slack", token: "1"}, c: {sink: "slack", token: "1"}}}}`), nil)
	a, b, c := get(t, s, "a"), get(t, s, "B"), get(t, s, "c")
	if get(t, s, "A") != a || get(t, s, "b") != b {
		t.Error("a sink was created twice")
	}
	if b == c {
		t.Error("two channels share a sink")
	}
	s.Configure(parse(t, `{delivery: {channels: {`+kept+`, b: {sink: "slack", token: "2"}}}}`))
	if get(t, s, "a") != a {
		t.Error("a sink was replaced when another one changed")
	}
	if get(t, s, "b") == b {
		t.Error("a sink was kept when its settings changed")
	}
	if sink, err := s.Sink("c"); sink != nil || err == nil {
		t.Errorf("a sink was kept when its channel was removed: %v, %v", sink, err)
	}
}

func TestErrors(t *testing.T) {
	t.Setenv("SINKS_TEST_UNSET", "")
	s := delivery.NewSinks(parse(t, `{delivery: {channels: {
		token: {sink: "telegram", token: {env: "SINKS_TEST_UNSET"}},
		secret: {sink: "webhook", url: "http://127.0.0.1:1/", secret: {env: "SINKS_TEST_UNSET"}},
		key: {sink: "webhook", url: "http://127.0.0.1:1/", secret: "whsec_!!"},
		good: {sink: "log"}}}}`), nil)
	for channel, want := range map[string]string{
		"Other":  `channel "other" has no sink: set delivery.channels.other`,
		"token":  "delivery.channels.token: the environment variable SINKS_TEST_UNSET for the token or secret is not set",
		"secret": "delivery.channels.secret: the environment variable SINKS_TEST_UNSET for the token or secret is not set",
		"key":    "delivery.channels.key: webhook: secret: ",
	} {
		if sink, err := s.Sink(channel); sink != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, %v\nwant %s", channel, sink, err, want)
		}
	}
	get(t, s, "good")

	c := config.Default()
	c.Delivery.Channels = map[string]config.Channel{"x": {Sink: "pigeon"}}
	if _, err := delivery.NewSinks(c, nil).Sink("x"); err == nil || !strings.Contains(err.Error(), "pigeon") {
		t.Errorf("an unknown sink: %v", err)
	}
}

// TestPost asserts that each sink uses the address and the secret of its channel.
func TestPost(t *testing.T) {
	type request struct {
		path, key, signature string
		body                 []byte
	}
	var got []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, request{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Webhook-Signature"), body})
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok": true, "id": "1", "ts": "1", "channel": "C1", "result": {"message_id": 1}}`)
	}))
	defer server.Close()
	s := delivery.NewSinks(parse(t, `{delivery: {channels: {
		hook: {sink: "webhook", url: "`+server.URL+`/in", secret: "hush"},
		telegram: {sink: "telegram", token: "T1", baseUrl: "`+server.URL+`/tg"},
		slack: {sink: "slack", token: "T2", baseUrl: "`+server.URL+`/sl"},
		discord: {sink: "discord", token: "T3", baseUrl: "`+server.URL+`/dc"}}}}`),
		&delivery.SinkOptions{Transport: server.Client().Transport})
	for _, c := range []struct{ channel, prefix, key string }{
		{"hook", "/in", ""},
		{"telegram", "/tg/botT1/", ""},
		{"slack", "/sl/", "Bearer T2"},
		{"discord", "/dc/", "Bot T3"},
	} {
		got = nil
		if err := get(t, s, c.channel).Post(t.Context(), message(c.channel)); err != nil {
			t.Errorf("%s: %v", c.channel, err)
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0].path, c.prefix) || got[0].key != c.key || !bytes.Contains(got[0].body, []byte("the text")) {
			t.Errorf("%s received %+v", c.channel, got)
		}
		if signed := len(got) > 0 && got[0].signature != ""; signed != (c.channel == "hook") {
			t.Errorf("%s: signed is %v", c.channel, signed)
		}
	}
}

// TestLog asserts that all channels with a log sink write whole lines to one writer.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	s := delivery.NewSinks(parse(t, `{delivery: {channels: {a: {sink: "log"}, b: {sink: "log"}}}}`), &delivery.SinkOptions{Log: &out})
	const each = 20
	done := make(chan error)
	for _, channel := range []string{"a", "b"} {
		sink := get(t, s, channel)
		for range each {
			go func() { done <- sink.Post(t.Context(), message(channel)) }()
		}
	}
	for range 2 * each {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	channels := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var m struct{ Channel, Text string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Text != "the text" {
			t.Errorf("wrote %q: %v", line, err)
		}
		channels[m.Channel]++
	}
	if channels["a"] != each || channels["b"] != each {
		t.Errorf("wrote %v", channels)
	}
}
