package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	server "github.com/parley-wasm/parley/host/internal/bench/gateway"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

const (
	concurrent   = 8  // clients
	manyAttempts = 10 // of a run that is killed again and again
	lookEvery    = 10 // kills, at what the database holds
)

// random kills a gateway under load at random moments, so many times, and looks
// what became of all that clients were told is accepted. The seed decides what is
// called and how long a gateway lives.
func (l *load) random(ctx context.Context, dir string, kills int, seed uint64, t *tally) error {
	o := newOutside(15 * time.Millisecond)
	defer o.server.Close()
	p := &place{dir: filepath.Join(dir, "random", l.name), sessions: l.sessions, attempts: manyAttempts}
	if err := p.make(ctx, o); err != nil {
		return err
	}
	program, err := server.Build(ctx, dir)
	if err != nil {
		return err
	}
	g := &gateway{program: program, place: p}
	c := &clients{gateway: g, next: l.next, seed: seed, stop: make(chan struct{}), accepted: map[string]call{}}
	start := time.Now()
	if err := l.killing(ctx, g, c, kills, t); err != nil {
		return err
	}
	if err := errors.Join(g.settle(ctx), g.end()); err != nil {
		return err
	}
	if err := later(ctx, p); err != nil {
		return err
	}
	if err := t.verifyAll(ctx, p, o, c.accepted); err != nil {
		return err
	}
	if t.repeats > 0 {
		t.fail("%d messages were seen twice", t.repeats)
	}
	if kills >= 100 && t.attempts == 0 {
		t.fail("none of %d kills fell into a run", kills)
	}
	if kills >= 100 && l.bounded && c.refused == 0 {
		t.fail("nothing was refused for want of room")
	}
	fmt.Printf("%d random kills in %s: %d %s accepted, %d refused for now%s; %d further attempts, %d runs interrupted for good, %d posted again, %d seen twice, %d problems\n",
		t.kills, time.Since(start).Round(time.Second), t.exchanges, l.name, c.refused, t.told(), t.attempts, t.interrupted, t.reposts, t.repeats, len(t.problems))
	return nil
}

// killing starts and kills the gateway while clients call. In the end it is up,
// and no client calls any more.
func (l *load) killing(ctx context.Context, g *gateway, c *clients, kills int, t *tally) error {
	var all sync.WaitGroup
	failures := make(chan error, concurrent)
	for i := range concurrent {
		all.Go(func() {
			if err := c.call(ctx, i); err != nil {
				failures <- err
			}
		})
	}
	lifetime := rand.New(rand.NewPCG(c.seed, concurrent))
	for start := time.Now(); t.kills < kills; {
		if err := g.start(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(time.Duration(lifetime.ExpFloat64() * float64(60*time.Millisecond))):
		case err := <-failures:
			return errors.Join(err, g.kill())
		}
		if err := g.kill(); err != nil {
			return err
		}
		t.kills++
		if l.bounded && t.kills%lookEvery == 0 {
			if err := t.withinBounds(ctx, g.place); err != nil {
				return err
			}
		}
		if t.kills%50 == 0 {
			fmt.Printf("  %d kills, %d %s accepted, %s\n", t.kills, c.count(), l.name, time.Since(start).Round(time.Second))
		}
	}
	if err := g.start(ctx); err != nil {
		return err
	}
	close(c.stop)
	all.Wait()
	close(failures)
	return <-failures
}

// withinBounds fails when a session has more children at work than it may.
func (t *tally) withinBounds(ctx context.Context, p *place) (err error) {
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	view, err := db.View(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	for _, s := range p.sessions {
		n, err := view.ActiveChildren(ctx, s.Key)
		if err != nil {
			return err
		}
		if n > maxChildren {
			t.fail("%s has %d children at work, and may have %d", s.Key, n, maxChildren)
		}
	}
	return nil
}

// later lets a gateway live when all that rests is due, until nothing is left.
func later(ctx context.Context, p *place) (err error) {
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	counted := &countedStore{db, &points{trace: io.Discard}}
	h, err := p.host(ctx, counted, func() time.Time { return time.Now().Add(2 * archiveAfter) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	if err := h.Start(ctx); err != nil {
		return err
	}
	for {
		open, err := h.Flows(ctx, &store.Filter{Statuses: []string{store.FlowWaiting}, Limit: 1})
		if err != nil || len(open) == 0 {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// verifyAll verifies every call that was accepted, and that there is no other. A
// client may have been cut off in its last call, never in an accepted one.
func (t *tally) verifyAll(ctx context.Context, p *place, o *outside, accepted map[string]call) error {
	w, err := p.read(ctx)
	if err != nil {
		return err
	}
	t.final(w)
	for _, s := range w.stories(p.attempts) {
		id := s.flow.Call.ID
		if accepted[id] == nil {
			t.fail("%s: there is a flow of a call that was never answered", id)
			continue
		}
		t.verify(accepted[id], s, o)
		delete(accepted, id)
	}
	for id := range accepted {
		t.fail("%s was accepted, and is lost", id)
	}
	t.nothingElse(o)
	return nil
}
