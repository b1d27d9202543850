package importer

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/host/store"
)

// Limits of a batch. They also bound the messages in memory, because the importer commits
// a full batch before it continues to read.
const (
	maxBatchPuts  = 4000
	maxBatchBytes = 8 << 20
)

// writer collects puts and commits them in batches, in order.
type writer struct {
	into   store.Loader
	report *Report
	meter  *meter
	puts   []put
	bytes  int
}

// put is one change to the store. It adds its result to the counts.
type put func(b store.Batch, sessions, messages *Counts) error

func (w *writer) session(e *entry) {
	w.add(len(e.Extra), func(b store.Batch, sessions, _ *Counts) error {
		change, err := b.PutSession(&e.Session, e.Extra)
		if err != nil {
			return fmt.Errorf("session %q: %w", e.Session.Key, err)
		}
		sessions.count(change)
		return nil
	})
}

func (w *writer) message(key string, m store.Message) {
	w.add(len(m.JSON), func(b store.Batch, _, messages *Counts) error {
		change, err := b.PutMessage(key, &m)
		if err != nil {
			return fmt.Errorf("message of session %q: %w", key, err)
		}
		messages.count(change)
		return nil
	})
}

// bookmark stores a bookmark, in the same commit as the puts before it or in a later
// one.
func (w *writer) bookmark(name, value string) {
	w.add(len(value), func(b store.Batch, _, _ *Counts) error { return b.SetBookmark(name, value) })
}

func (w *writer) add(size int, p put) {
	w.puts = append(w.puts, p)
	w.bytes += size
}

// full reports whether the batch must be flushed.
func (w *writer) full() bool { return len(w.puts) >= maxBatchPuts || w.bytes >= maxBatchBytes }

// flush commits the batch, and then adds its results to the report.
func (w *writer) flush(ctx context.Context) error {
	if len(w.puts) == 0 {
		return nil
	}
	var sessions, messages Counts
	err := w.into.Load(ctx, func(b store.Batch) error {
		sessions, messages = Counts{}, Counts{}
		for _, p := range w.puts {
			if err := p(b, &sessions, &messages); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("importer: commit to the store: %w", err)
	}
	w.report.Sessions.add(sessions)
	w.report.Messages.add(messages)
	w.meter.Sessions += sessions.total()
	w.meter.Messages += messages.total()
	clear(w.puts) // release the messages
	w.puts, w.bytes = w.puts[:0], 0
	return nil
}

func (c *Counts) count(change store.Change) {
	switch change {
	case store.Inserted:
		c.Inserted++
	case store.Updated:
		c.Updated++
	default:
		c.Unchanged++
	}
}

func (c *Counts) add(o Counts) {
	c.Inserted += o.Inserted
	c.Updated += o.Updated
	c.Unchanged += o.Unchanged
	c.Skipped += o.Skipped
}

func (c Counts) total() int { return c.Inserted + c.Updated + c.Unchanged }
