package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/delivery/webhook"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/sink/sinktest"
)

// accept answers without a body, like many receivers.
var accept = sinktest.Answer(204, "")

func open(t testing.TB, o *webhook.Options) *webhook.Sink {
	t.Helper()
	s, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) {
	sinktest.Exercise(t, sinktest.Subject{
		New: func(t testing.TB, base string) sink.Sink {
			return open(t, &webhook.Options{URL: strings.Replace(base, "://", "://me:passwordpassword@", 1) + "/in?token=querytoken", Secret: "signaturesecret"})
		},
		Accept: accept, Target: abi.Target{Channel: "webchat", To: "7"},
		Secrets:       []string{"signaturesecret", "passwordpassword", "token=querytoken"},
		StatusDecides: true,
		Key:           func(h http.Header, _ []byte) string { return h.Get("Idempotency-Key") },
	})
}

func TestRequest(t *testing.T) {
	for _, test := range []struct {
		name string
		m    sink.Message
		want string
	}{
		{"all", sink.Message{
			IdempotencyKey: "d1", Target: abi.Target{Channel: "signal", To: "+49", AccountID: "a", ThreadID: "4"},
			Text: "x", SessionKey: "agent:main:main", RunID: "r1",
		}, `{"idempotencyKey":"d1","channel":"signal","to":"+49","accountId":"a","threadId":"4","text":"x","sessionKey":"agent:main:main","runId":"r1"}`},
		{"as little as possible", sink.Message{
			IdempotencyKey: "d2", Target: abi.Target{Channel: "signal", To: "+49"}, Text: "x", SessionKey: "global",
		}, `{"idempotencyKey":"d2","channel":"signal","to":"+49","text":"x","sessionKey":"global","runId":""}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := sinktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/in" || r.URL.RawQuery != "a=b" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				accept(w, r)
			})
			if err := open(t, &webhook.Options{URL: service.URL + "/in?a=b"}).Post(t.Context(), &test.m); err != nil {
				t.Fatal(err)
			}
			if got := string(service.Bodies()[0]); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			h := service.Headers()[0]
			if h.Get("Idempotency-Key") != test.m.IdempotencyKey || h.Get("Content-Type") != "application/json" {
				t.Errorf("%v", h)
			}
			if h.Get("Webhook-Signature") != "" {
				t.Error("a request without a secret is signed")
			}
		})
	}
}

func TestSignature(t *testing.T) {
	now := time.Unix(1614265330, 0)
	for _, test := range []struct{ name, secret, key string }{
		{"with prefix", "whsec_" + base64.StdEncoding.EncodeToString([]byte("binary\x00key")), "binary\x00key"},
		{"without prefix", "hunter2", "hunter2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := sinktest.Serve(t, accept)
			s := open(t, &webhook.Options{URL: service.URL, Secret: test.secret, Now: func() time.Time { return now }})
			if err := s.Post(t.Context(), &sink.Message{IdempotencyKey: "d1", Text: "x"}); err != nil {
				t.Fatal(err)
			}
			h := service.Headers()[0]
			mac := hmac.New(sha256.New, []byte(test.key))
			mac.Write([]byte("d1.1614265330." + string(service.Bodies()[0])))
			want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
			if h.Get("webhook-id") != "d1" || h.Get("webhook-timestamp") != "1614265330" || h.Get("webhook-signature") != want {
				t.Errorf("%v, want the signature %s", h, want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		o    *webhook.Options
		want string
	}{
		"nil options":     {nil, "url: the address must begin with http:// or https://"},
		"no scheme":       {&webhook.Options{URL: "example.org/in"}, "url: the address must begin with"},
		"another scheme":  {&webhook.Options{URL: "ftp://example.org/in"}, "url: the address must begin with"},
		"no host":         {&webhook.Options{URL: "https:///in"}, "name a host"},
		"a broken secret": {&webhook.Options{URL: "http://localhost/in", Secret: "whsec_!"}, "secret: the part after whsec_ must be base64"},
		"an empty secret": {&webhook.Options{URL: "http://localhost/in", Secret: "whsec_"}, "secret: the part after whsec_ must be base64"},
		"not an address":  {&webhook.Options{URL: "http://me:hush@exa mple/in"}, "the address must begin"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := webhook.New(test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
