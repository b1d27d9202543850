package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// rows are all that a store holds of the work, and the sessions that were asked
// for.
type rows struct {
	Sessions   []*abi.Session
	Flows      []*store.Flow
	Runs       []*store.Run
	Messages   [][]string // of each run
	Deliveries []*store.Delivery
	Due        []store.Due
}

func everything(ctx context.Context, db *sqlite.DB, sessions ...string) (w *rows, err error) {
	view, err := db.View(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	w = &rows{}
	all := &store.Filter{Limit: 1 << 20}
	if w.Flows, err = view.Flows(ctx, all); err != nil {
		return nil, err
	}
	if w.Deliveries, err = view.Deliveries(ctx, all); err != nil {
		return nil, err
	}
	if w.Runs, err = view.Runs(ctx, all); err != nil {
		return nil, err
	}
	for _, r := range w.Runs {
		raw, err := view.RunMessages(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		var messages []string
		for _, m := range raw {
			messages = append(messages, string(m))
		}
		w.Messages = append(w.Messages, messages)
	}
	for _, kind := range []string{store.KindFlow, store.KindRun, store.KindDelivery} {
		due, err := view.Due(ctx, kind)
		if err != nil {
			return nil, err
		}
		w.Due = append(w.Due, due...)
	}
	for _, key := range sessions {
		s, err := view.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		w.Sessions = append(w.Sessions, s)
	}
	return w, nil
}

// lines returns each row as a line.
func (w *rows) lines() (all []string) {
	add := func(kind string, row any) {
		doc, _ := json.Marshal(row) // these all can be
		all = append(all, fmt.Sprintf("%s %s", kind, doc))
	}
	for _, s := range w.Sessions {
		add("session", s)
	}
	for _, f := range w.Flows {
		add("flow", f)
	}
	for _, r := range w.Runs {
		add("run", r)
	}
	for _, m := range w.Messages {
		add("messages", m)
	}
	for _, d := range w.Deliveries {
		add("delivery", d)
	}
	for _, d := range w.Due {
		add("due", d)
	}
	return all
}

// final fails for all that has not ended, and for what is scheduled though
// nothing is left to do.
func (t *tally) final(w *rows) {
	for _, f := range w.Flows {
		if !f.Ended() {
			t.fail("flow %s is %s", f.ID, f.Status)
		}
	}
	for _, r := range w.Runs {
		if !r.Ended() {
			t.fail("run %s is %s", r.ID, r.Status)
		}
	}
	for _, d := range w.Deliveries {
		if !d.Ended() {
			t.fail("delivery %s is %s", d.ID, d.Status)
		}
	}
	for _, d := range w.Due {
		t.fail("%s %s has ended, and is still scheduled", d.Kind, d.ID)
	}
}
