// Package storegen generates stores for benchmarks: sessions of several agents,
// channels and kinds, with transcripts of realistic length and content (questions,
// thinking, tool calls, tool results), and optionally one very long and one very large
// transcript. The same options generate the same store.
//
// For any number of sessions, each of these properties occurs in exactly RareSessions of
// them, so that in a good store the cost of filtering by a property depends only on the
// size of the result: the kind is cron; the kind is hook; the agent is RareAgent; the
// label is RareLabel; the session was spawned by MainKey; updatedAt is within the last
// RecentMinutes before Options.Now. Half of the other ordinary sessions are archived.
package storegen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// Properties of every generated store.
const (
	RareSessions  = 5
	MainKey       = "agent:main:main" // always the first session
	RareAgent     = "rare"
	RareLabel     = "release train"
	RecentMinutes = 30

	LongKey  = "agent:main:discord:channel:long"  // the session of Options.LongMessages
	LargeKey = "agent:main:discord:channel:large" // the session of Options.LargeBytes
)

// DefaultMessages is the default number of messages of an ordinary session.
const DefaultMessages = 20

// Options configure Generate.
type Options struct {
	Seed         uint64
	Sessions     int // ordinary sessions, at least MinSessions
	Messages     int // per ordinary session; 0 means DefaultMessages
	LongMessages int // messages of the session LongKey; 0 = no such session
	LargeBytes   int // approximate bytes of the messages of the session LargeKey; 0 = no such session
	Now          time.Time
	Progress     func(messages int) // called after each batch with the number of messages so far; may be nil
}

// MinSessions is the minimum number of ordinary sessions.
const MinSessions = 1 + 5*RareSessions + 4

// Summary describes a generated store.
type Summary struct {
	Sessions int
	Messages int
	Bytes    int64 // size of the messages' JSON
}

// batchBytes is the approximate size of one transaction.
const batchBytes = 8 << 20

// Generate fills the store in transactions of some megabytes. A zero Now means a fixed
// time in 2026.
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

// generator generates the sessions one after another. The long and the large transcript
// take several batches.
type generator struct {
	Options
	summary Summary
	ordinal int         // index of the next ordinary session
	current *transcript // transcript in progress, or nil
	special int         // number of special sessions (long, large) considered so far
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
		return nil, fmt.Errorf("storegen: Options.Sessions is %d; it must be at least %d", g.Sessions, MinSessions)
	case g.Messages < 0 || g.LongMessages < 0 || g.LargeBytes < 0:
		return nil, errors.New("storegen: Options.Messages, LongMessages or LargeBytes is negative")
	}
	return g, nil
}

// next writes a session or a part of one, and reports whether all sessions are done.
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

// begin starts the next transcript and reports whether there is one.
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

// random returns the random source of session i. Each session has its own source, so
// that a larger store begins with the sessions of a smaller one.
func (g *generator) random(i int) *rand.Rand { return rand.New(rand.NewPCG(g.Seed, uint64(i))) }
