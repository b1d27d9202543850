package log_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/delivery/log"
	"github.com/parley-wasm/parley/host/sink"
)

var message = sink.Message{
	IdempotencyKey: "d1", Target: abi.Target{Channel: "webchat", To: "7", ThreadID: "8"},
	Text: "two\nlines", SessionKey: "agent:main:main", RunID: "r1",
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	dest := log.New(&log.Options{Writer: &out})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := dest.Post(t.Context(), &message); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 8 {
		t.Fatalf("%d lines, want 8", len(lines))
	}
	for _, line := range lines {
		var got map[string]string
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		want := map[string]string{
			"idempotencyKey": "d1", "channel": "webchat", "to": "7", "threadId": "8", "text": "two\nlines", "sessionKey": "agent:main:main", "runId": "r1",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestBrokenWriter(t *testing.T) {
	err := log.New(&log.Options{Writer: broken{}}).Post(t.Context(), &message)
	var permanent *sink.Permanent
	if err == nil || errors.As(err, &permanent) {
		t.Errorf("%v, want a temporary error", err)
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	dest := log.New(&log.Options{Logger: slog.New(slog.NewJSONHandler(&out, nil))})
	if err := dest.Post(t.Context(), &message); err != nil {
		t.Fatal(err)
	}
	var got struct{ Msg, Channel, To, Text, IdempotencyKey string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Msg != "message" || got.Channel != "webchat" || got.To != "7" || got.Text != message.Text || got.IdempotencyKey != "d1" {
		t.Errorf("%v: %s", err, out.String())
	}
}
