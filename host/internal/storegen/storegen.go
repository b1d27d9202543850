// Package storegen makes stores to measure with: sessions of several agents,
// channels and kinds, with transcripts of the length and mix that agents leave
// behind (questions, thinking, tool calls, tool results), and, if wanted, one
// very long and one very large transcript. The same options make the same store.
//
// However many sessions there are, each of these is true of exactly Few of them,
// so that a filter for it costs what its answer costs, if the store is good:
// the kind is cron; the kind is hook; the agent is RareAgent; the label is
// RareLabel; the session was spawned by MainKey; updatedAt is within the last
// RecentMinutes before Options.Now. Half of the sessions are archived.
package storegen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// What is the same in every store.
const (
	Few           = 5
	MainKey       = "agent:main:main" // always there, as first session
	RareAgent     = "rare"
	RareLabel     = "release train"
	RecentMinutes = 30

	LongKey  = "agent:main:discord:channel:long"  // the session of Options.LongMessages
	LargeKey = "agent:main:discord:channel:large" // the session of Options.LargeBytes
)

// DefaultMessages is how many messages an ordinary session has by default.
const DefaultMessages = 20

// Options say what to make.
type Options struct {
	Seed         uint64
	Sessions     int // ordinary sessions, at least MinSessions
	Messages     int // of each of them; 0 means DefaultMessages
	LongMessages int // messages of the session LongKey; 0 = no such session
	LargeBytes   int // bytes of the messages of the session LargeKey, about; 0 = no such session
	Now          time.Time
	Progress     func(messages int) // called after each batch, with the messages so far; may be nil
}

// MinSessions is the smallest store, in ordinary sessions.
const MinSessions = 1 + 5*Few + 4

// Summary says what was made.
type Summary struct {
	Sessions int
	Messages int
	Bytes    int64 // of the messages' JSON
}

// batchBytes is how much goes into one transaction, about.
const batchBytes = 8 << 20

// Generate fills the store, in transactions of some megabytes. A zero Now means
// a moment in 2026.
func Generate(ctx context.Context, into store.Loader, o *Options) (*Summary, error) {
	g, err := newGenerator(o)
	if err != nil {
		return nil, err
	}
	for done := false; !done; {
		err := into.Load(ctx, func(b store.Batch) error {
			for size := g.summary.Bytes; !done && g.summary.Bytes-size < batchBytes; {
				var err error
				if done, err = g.next(b); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("storegen: after %d sessions: %w", g.summary.Sessions, err)
		}
		if g.Progress != nil {
			g.Progress(g.summary.Messages)
		}
	}
	return &g.summary, nil
}

// generator makes one session after the other, of the long and large ones a part
// at a time.
type generator struct {
	Options
	summary Summary
	ordinal int         // of the next ordinary session
	current *transcript // transcript being written, or nil
	special int         // how many of the two special sessions were begun
}

func newGenerator(o *Options) (*generator, error) {
	g := &generator{Options: *o}
	if g.Messages == 0 {
		g.Messages = DefaultMessages
	}
	if g.Now.IsZero() {
		g.Now = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	}
	switch {
	case g.Sessions < MinSessions:
		return nil, fmt.Errorf("storegen: Options.Sessions is %d; make at least %d", g.Sessions, MinSessions)
	case g.Messages < 0 || g.LongMessages < 0 || g.LargeBytes < 0:
		return nil, errors.New("storegen: Options.Messages, LongMessages or LargeBytes is negative")
	}
	return g, nil
}

// next makes a session, or a part of one, and reports whether it was the last.
func (g *generator) next(b store.Batch) (done bool, err error) {
	if g.current == nil {
		if done = !g.begin(); done {
			return true, nil
		}
		if _, err := b.PutSession(&g.current.session, nil); err != nil {
			return false, err
		}
		g.summary.Sessions++
	}
	for size := 0; size < batchBytes; {
		m, more := g.current.next()
		if !more {
			g.current = nil
			return false, nil
		}
		if _, err := b.PutMessage(g.current.session.Key, m); err != nil {
			return false, err
		}
		size += len(m.JSON)
		g.summary.Messages++
		g.summary.Bytes += int64(len(m.JSON))
	}
	return false, nil
}

// begin starts the next transcript, if there is one.
func (g *generator) begin() bool {
	if i := g.ordinal; i < g.Sessions {
		g.ordinal++
		g.current = newTranscript(g.random(i), g.session(i), g.Messages, 0)
		return true
	}
	for g.special < 2 {
		g.special++
		switch {
		case g.special == 1 && g.LongMessages > 0:
			g.current = newTranscript(g.random(-1), g.specialSession(LongKey), g.LongMessages, 0)
			return true
		case g.special == 2 && g.LargeBytes > 0:
			g.current = newTranscript(g.random(-2), g.specialSession(LargeKey), 0, g.LargeBytes)
			return true
		}
	}
	return false
}

// random returns a source of its own for each session, so that a store of more
// sessions begins with those of a smaller one.
func (g *generator) random(i int) *rand.Rand { return rand.New(rand.NewPCG(g.Seed, uint64(i))) }
