// Package log is the sink that writes messages to the log, for channels without a
// service and for experiments.
package log

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"

	"github.com/parley-wasm/parley/host/sink"
)

// Options are the settings of a Sink; nil and the zero value mean slog.Default.
type Options struct {
	Writer io.Writer    // receives one JSON object per line; nil: messages are written to Logger
	Logger *slog.Logger // nil: slog.Default
}

// Sink writes messages to a writer or logger. It ignores idempotency keys: a message
// that is posted again is written again. It is safe for concurrent use.
type Sink struct {
	o  Options
	mu sync.Mutex
}

var _ sink.Sink = (*Sink)(nil)

// New returns a sink.
func New(o *Options) *Sink {
	s := &Sink{}
	if o != nil {
		s.o = *o
	}
	if s.o.Logger == nil {
		s.o.Logger = slog.Default()
	}
	return s
}

// line is the JSON form of a message.
type line struct {
	IdempotencyKey string `json:"idempotencyKey"`
	Channel        string `json:"channel"`
	To             string `json:"to"`
	AccountID      string `json:"accountId,omitempty"`
	ThreadID       string `json:"threadId,omitempty"`
	Text           string `json:"text"`
	SessionKey     string `json:"sessionKey"`
	RunID          string `json:"runId,omitempty"`
}

// Post writes the message. An error of the writer is a temporary failure.
func (s *Sink) Post(ctx context.Context, m *sink.Message) error {
	l := line{m.IdempotencyKey, m.Channel, m.To, m.AccountID, m.ThreadID, m.Text, m.SessionKey, m.RunID}
	if s.o.Writer == nil {
		s.o.Logger.LogAttrs(ctx, slog.LevelInfo, "message", slog.String("channel", l.Channel), slog.String("to", l.To),
			slog.String("accountId", l.AccountID), slog.String("threadId", l.ThreadID), slog.String("text", l.Text),
			slog.String("sessionKey", l.SessionKey), slog.String("runId", l.RunID), slog.String("idempotencyKey", l.IdempotencyKey))
		return nil
	}
	b, err := json.Marshal(l)
	if err != nil {
		return &sink.Permanent{Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.o.Writer.Write(append(b, '\n'))
	return err
}
