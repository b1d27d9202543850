package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// rows are all that a store holds: the sessions, and the work.
type rows struct {
	Sessions   map[string]*abi.Session // by key
	Flows      []*store.Flow
	Runs       []*store.Run        // in the order in which they were accepted
	Messages   map[string][]string // by run
	Deliveries []*store.Delivery
	Due        []store.Due
}

// story is what is stored of one call.
type story struct {
	all        *rows
	attempts   int // that a run may have
	flow       *store.Flow
	runs       []*store.Run
	deliveries []*store.Delivery
}

// read returns the rows of a place. No gateway has it.
func (p *place) read(ctx context.Context) (w *rows, err error) {
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return everything(ctx, db)
}

func everything(ctx context.Context, db *sqlite.DB) (w *rows, err error) {
	view, err := db.View(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	w = &rows{Messages: map[string][]string{}}
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
	slices.SortFunc(w.Runs, func(a, b *store.Run) int { return int(a.Seq - b.Seq) })
	for _, r := range w.Runs {
		raw, err := view.RunMessages(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		for _, m := range raw {
			w.Messages[r.ID] = append(w.Messages[r.ID], string(m))
		}
	}
	for _, kind := range []string{store.KindFlow, store.KindRun, store.KindDelivery} {
		due, err := view.Due(ctx, kind)
		if err != nil {
			return nil, err
		}
		w.Due = append(w.Due, due...)
	}
	w.Sessions, err = sessions(ctx, view)
	return w, err
}

func sessions(ctx context.Context, view store.View) (map[string]*abi.Session, error) {
	all := map[string]*abi.Session{}
	q := &abi.ListRequest{IncludeArchived: true, Limit: abi.MaxListLimit}
	for {
		page, err := view.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Rows {
			s := &page.Rows[i].Session
			all[s.Key] = s
			q.After = &abi.Position{UpdatedAt: s.UpdatedAt, Key: s.Key}
		}
		if !page.More {
			return all, nil
		}
	}
}

// stories sorts the rows by the flows that they belong to.
func (w *rows) stories(attempts int) []*story {
	of := map[string]*story{}
	var all []*story
	for _, f := range w.Flows {
		of[f.ID] = &story{all: w, attempts: attempts, flow: f}
		all = append(all, of[f.ID])
	}
	for _, r := range w.Runs {
		if s := of[r.FlowID]; s != nil {
			s.runs = append(s.runs, r)
		}
	}
	for _, d := range w.Deliveries {
		if s := of[d.FlowID]; s != nil {
			s.deliveries = append(s.deliveries, d)
		}
	}
	return all
}

// messages returns how many messages a run has stored.
func (s *story) messages(r *store.Run) (users, answers int) {
	for _, m := range s.all.Messages[r.ID] {
		switch gjson.Get(m, "role").Str {
		case "user":
			users++
		case "assistant":
			answers++
		}
	}
	return users, answers
}

// lines returns each row as a line.
func (w *rows) lines() (all []string) {
	add := func(kind string, row any) {
		doc, _ := json.Marshal(row) // these all can be
		all = append(all, fmt.Sprintf("%s %s", kind, doc))
	}
	for _, key := range slices.Sorted(maps.Keys(w.Sessions)) {
		add("session", w.Sessions[key])
	}
	for _, f := range w.Flows {
		add("flow", f)
	}
	for _, r := range w.Runs {
		add("run", r)
		add("messages", w.Messages[r.ID])
	}
	for _, d := range w.Deliveries {
		add("delivery", d)
	}
	for _, d := range w.Due {
		add("due", d)
	}
	return all
}
