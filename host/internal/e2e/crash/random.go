package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

const (
	concurrency  = 8                     // number of clients
	manyAttempts = 10                    // of a run, which several kills may interrupt
	meanLifetime = 60 * time.Millisecond // of a gateway
	boundsEvery  = 10                    // kills between checks of the number of children
	reportEvery  = 50                    // kills between progress lines
)

// run kills a gateway under load at random moments, and checks the results of all accepted
// calls. The seed determines the calls and the lifetimes of the gateway processes.
func (l *load) run(ctx context.Context, dir string, seed uint64, r *e2e.Report) error {
	if l.kills == 0 {
		return nil
	}
	k := &killTest{Report: &e2e.Report{}, load: l, accepted: map[string]call{}}
	k.peers = e2e.NewPeers(reply)
	k.peers.Latency = 15 * time.Millisecond
	k.peers.Start()
	defer k.peers.Close()
	k.workspace = &workspace{dir: filepath.Join(dir, "random", l.name), sessions: l.sessions, attempts: manyAttempts}
	if err := k.create(ctx, k.peers); err != nil {
		return err
	}
	program, err := e2e.Build(ctx, dir)
	if err != nil {
		return err
	}
	k.gateway = &e2e.Gateway{Program: program, Database: k.database(), Config: k.config(), Cache: k.cache()}
	start := time.Now()
	err = k.run(ctx, seed)
	fmt.Printf("%d random kills in %s: %d %s accepted, %d problems, %s\n", k.Counted(countRandomKills),
		time.Since(start).Round(time.Second), k.Counted(l.name), l.name, len(k.Problems()), k.Summary())
	r.Add(l.name, k.Report)
	return err
}

// killTest is a load, its gateway and the report.
type killTest struct {
	*e2e.Report
	*workspace
	load    *load
	peers   *e2e.Peers
	gateway *e2e.Gateway

	mu       sync.Mutex
	accepted map[string]call // by id
}

func (k *killTest) run(ctx context.Context, seed uint64) error {
	if err := k.killUnderLoad(ctx, seed); err != nil {
		return errors.Join(err, k.gateway.Kill())
	}
	err := e2e.WithStore(ctx, k.database(), func(db *sqlite.DB) error { return e2e.Drain(ctx, db, archiveAfter/2) })
	if err := errors.Join(err, k.gateway.Stop()); err != nil {
		return err
	}
	if err := k.archive(ctx); err != nil {
		return err
	}
	if err := k.verify(ctx); err != nil {
		return err
	}
	if n := k.Counted(countRepeats); n > 0 {
		k.Fail("%d repeated messages", n)
	}
	if k.load.kills >= 50 && k.Counted(countRetries) == 0 {
		k.Fail("none of %d kills interrupted a run", k.load.kills)
	}
	if k.load.kills >= 50 && k.load.bounded && k.Counted(countRefused) == 0 {
		k.Fail("no call was refused because of a session's number of children")
	}
	return nil
}

// killUnderLoad starts and kills the gateway while clients call. When it returns, the
// gateway is running and the clients have stopped.
func (k *killTest) killUnderLoad(ctx context.Context, seed uint64) error {
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	rng := make([]*rand.Rand, concurrency+1)
	for i := range rng {
		rng[i] = rand.New(rand.NewPCG(seed, uint64(i)))
	}
	load := e2e.StartLoad(calling, concurrency, func(l *e2e.Load, client, n int) error {
		id := fmt.Sprintf("c%d-%d", client, n)
		return k.call(l, id, k.load.next("#"+id+"#", rng[client]))
	})
	err := k.killRepeatedly(ctx, load, rng[concurrency])
	if err != nil {
		cancel() // without a gateway the clients would repeat their calls for ever
	}
	return errors.Join(err, load.Stop())
}

func (k *killTest) killRepeatedly(ctx context.Context, load *e2e.Load, rng *rand.Rand) error {
	start := time.Now()
	for n := 1; n <= k.load.kills; n++ {
		if err := k.gateway.Start(ctx); err != nil {
			return err
		}
		failed := e2e.Sleep(load.Context(), time.Duration(rng.ExpFloat64()*float64(meanLifetime)))
		if err := errors.Join(failed, k.gateway.Kill()); err != nil {
			return err
		}
		k.Count(countRandomKills, 1)
		if k.load.bounded && n%boundsEvery == 0 {
			if err := k.checkBounds(ctx); err != nil {
				return err
			}
		}
		if n%reportEvery == 0 {
			fmt.Fprintf(os.Stderr, "  %d kills, %d %s accepted, %s\n", n, k.Counted(k.load.name), k.load.name, time.Since(start).Round(time.Second))
		}
	}
	return k.gateway.Start(ctx)
}

// call makes a call and repeats it until it is accepted, or refused after the load was
// stopped.
func (k *killTest) call(l *e2e.Load, id string, c call) error {
	for {
		result, err := k.gateway.CallUntilAnswered(l.Context(), id, c.request())
		if err != nil {
			return err
		}
		accepted, err := c.accepted(result)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %+v: %w", id, c, err)
		case accepted:
			k.mu.Lock()
			k.accepted[id] = c
			k.mu.Unlock()
			k.Count(k.load.name, 1)
			return nil
		}
		k.Count(countRefused, 1)
		if l.Stopping() {
			return nil
		}
		if err := e2e.Pause(l.Context()); err != nil {
			return err
		}
	}
}

// checkBounds adds a problem for each session with too many active children.
func (k *killTest) checkBounds(ctx context.Context) error {
	return e2e.WithStore(ctx, k.database(), func(db *sqlite.DB) error {
		view, err := db.View(ctx)
		if err != nil {
			return err
		}
		for _, s := range k.sessions {
			n, failed := view.ActiveChildren(ctx, s.Key)
			if err = errors.Join(err, failed); n > maxChildren {
				k.Fail("%s has %d active children, more than %d", s.Key, n, maxChildren)
			}
		}
		return errors.Join(err, view.Close())
	})
}

// archive runs a host with its clock ahead until every scheduled archiving is done.
func (k *killTest) archive(ctx context.Context) error {
	return e2e.WithStore(ctx, k.database(), func(db *sqlite.DB) error {
		uncounted := &countedStore{db, &points{trace: io.Discard}}
		h, err := newHost(ctx, k.workspace, uncounted, func() time.Time { return time.Now().Add(2 * archiveAfter) })
		if err != nil {
			return err
		}
		if err = h.Start(ctx); err == nil {
			err = e2e.Drain(ctx, db, 3*archiveAfter)
		}
		return errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	})
}

// verify verifies every accepted call, and that there are no flows of other calls.
func (k *killTest) verify(ctx context.Context) error {
	rows, err := e2e.ReadRows(ctx, k.database())
	if err != nil {
		return err
	}
	rows.CheckEnded(k.Report)
	rows.CheckSpawned(k.Report)
	for _, s := range rows.ByFlow() {
		k.verifyCall(s)
	}
	for id := range k.accepted {
		k.Fail("%s was accepted, but has no flow", id)
	}
	k.peers.CheckUnexpected(k.Report)
	return nil
}

func (k *killTest) verifyCall(s *e2e.FlowRows) {
	id := s.Flow.Call.ID
	c := k.accepted[id]
	if c == nil {
		k.Fail("%s: flow of a call that was not accepted", id)
		return
	}
	delete(k.accepted, id)
	found := &e2e.Report{}
	v := &verification{found, s, k.peers, k.attempts}
	v.check(c)
	k.Add(fmt.Sprintf("%s (%+v)", id, c), found)
}
