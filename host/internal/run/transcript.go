package run

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// transcript is the session's transcript, as the runner of an attempt reads and
// extends it.
type transcript struct{ a *attempt }

var _ runner.Transcript = (*transcript)(nil)

// History returns the newest messages before the run's own, oldest first.
func (t *transcript) History(ctx context.Context, messages, size int) (history []json.RawMessage, err error) {
	err = t.a.m.view(ctx, func(v store.View) error {
		own, err := v.RunMessages(ctx, t.a.run.ID)
		if err != nil {
			return err
		}
		history, err = newest(ctx, v, t.a.run.SessionKey, messages, size, newOwnMessages(own))
		return err
	})
	slices.Reverse(history)
	return history, err
}

// newest returns a session's newest messages, newest first, without those in own: at
// most the given number of messages and size in bytes.
func newest(ctx context.Context, v store.View, sessionKey string, messages, size int, own ownMessages) ([]json.RawMessage, error) {
	var history []json.RawMessage
	for before := int64(0); ; {
		wanted := messages - len(history)
		if wanted <= 0 || size <= 0 {
			return history, nil
		}
		page, err := v.History(ctx, &abi.HistoryRequest{
			SessionKey: sessionKey, Before: before,
			Limit: min(wanted+own.left, abi.MaxHistoryLimit), MaxBytes: abi.DefaultMaxBytes,
		})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Messages {
			before = m.Seq
			if own.take(&m) {
				continue
			}
			if size -= len(m.JSON); size < 0 || len(history) == messages {
				return history, nil
			}
			history = append(history, slices.Clone(m.JSON))
		}
		if !page.More || len(page.Messages) == 0 {
			return history, nil
		}
	}
}

// ownMessages recognises a run's own messages in a history. Truncated messages are
// matched by role and time.
type ownMessages struct {
	whole     map[string]int // by JSON text
	truncated map[string]int // by role and time
	left      int            // number not found yet
}

func newOwnMessages(own [][]byte) ownMessages {
	m := ownMessages{whole: map[string]int{}, truncated: map[string]int{}, left: len(own)}
	for _, doc := range own {
		m.whole[string(doc)]++
		m.truncated[roleAndTime(doc)]++
	}
	return m
}

func roleAndTime(doc []byte) string {
	return message.Role(doc) + " " + strconv.FormatInt(message.Timestamp(doc), 10)
}

// take reports whether a message is one of the run's own, and removes it from the
// set.
func (m *ownMessages) take(found *abi.Message) bool {
	by, key := m.whole, string(found.JSON)
	if len(found.Truncations) > 0 {
		by, key = m.truncated, roleAndTime(found.JSON)
	}
	if m.left == 0 || by[key] == 0 {
		return false
	}
	by[key]--
	m.left--
	return true
}

// Run returns the run's messages, oldest first, without the user message.
func (t *transcript) Run(ctx context.Context) (appended []json.RawMessage, err error) {
	err = t.a.m.view(ctx, func(v store.View) error {
		own, err := v.RunMessages(ctx, t.a.run.ID)
		if err != nil {
			return err
		}
		for i, doc := range own {
			if i > 0 || message.Role(doc) != roleUser {
				appended = append(appended, doc)
			}
		}
		return nil
	})
	return appended, err
}

// Append stores messages of the run.
func (t *transcript) Append(ctx context.Context, messages ...json.RawMessage) error {
	rows := make([]*store.Message, len(messages))
	for i, raw := range messages {
		doc, err := normalize(raw)
		if err != nil {
			return err
		}
		at := message.Timestamp(doc)
		if at == 0 {
			at = t.a.m.millis()
		}
		rows[i] = &store.Message{Role: message.Role(doc), At: at, JSON: doc, RunID: t.a.run.ID}
	}
	return t.a.claim.Update(ctx, func(tx store.Tx) error {
		s, err := tx.Session(t.a.run.SessionKey)
		if err != nil {
			return err
		}
		if s == nil {
			return errNoSession
		}
		for _, row := range rows {
			if err := tx.Append(s.Key, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// remember commits the process that must be ended if this host dies.
func (a *attempt) remember(ctx context.Context, left any) error {
	raw, err := json.Marshal(left)
	if err != nil {
		return err
	}
	return a.update(ctx, func(_ store.Tx, r *store.Run) error {
		r.Process = raw
		return nil
	})
}
