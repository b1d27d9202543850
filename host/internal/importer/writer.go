package importer

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/host/store"
)

// A batch is committed when it holds this much. Reading goes on only after that,
// so a batch is also what is held in memory.
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

// put is a session, a message of the session key, or a bookmark.
type put struct {
	entry   *entry
	key     string
	message store.Message
	mark    string
	value   string
}

func (w *writer) session(e *entry) { w.add(put{entry: e}, len(e.Extra)) }

func (w *writer) message(key string, m store.Message) {
	w.add(put{key: key, message: m}, len(m.JSON))
}

// mark leaves a bookmark with everything put before it, or later.
func (w *writer) mark(name, value string) { w.add(put{mark: name, value: value}, len(value)) }

func (w *writer) add(p put, size int) {
	w.puts = append(w.puts, p)
	w.bytes += size
}

// full reports whether it is time to flush.
func (w *writer) full() bool { return len(w.puts) >= maxBatchPuts || w.bytes >= maxBatchBytes }

// flush commits what was put. The report counts only what is committed.
func (w *writer) flush(ctx context.Context) error {
	if len(w.puts) == 0 {
		return nil
	}
	var sessions, messages Counts
	err := w.into.Load(ctx, func(b store.Batch) error {
		sessions, messages = Counts{}, Counts{}
		for i := range w.puts {
			if err := w.puts[i].apply(b, &sessions, &messages); err != nil {
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
	clear(w.puts) // let go of the messages
	w.puts, w.bytes = w.puts[:0], 0
	return nil
}

func (p *put) apply(b store.Batch, sessions, messages *Counts) error {
	switch {
	case p.entry != nil:
		change, err := b.PutSession(&p.entry.Session, p.entry.Extra)
		if err != nil {
			return fmt.Errorf("session %q: %w", p.entry.Session.Key, err)
		}
		sessions.count(change)
	case p.mark != "":
		return b.SetMark(p.mark, p.value)
	default:
		change, err := b.PutMessage(p.key, &p.message)
		if err != nil {
			return fmt.Errorf("message of session %q: %w", p.key, err)
		}
		messages.count(change)
	}
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
