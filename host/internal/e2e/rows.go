package e2e

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

// PutSessions stores sessions. It creates the database if it does not exist.
func PutSessions(ctx context.Context, file string, sessions ...*abi.Session) error {
	return WithStore(ctx, file, func(db *sqlite.DB) error {
		return db.Load(ctx, func(b store.Batch) (err error) {
			for _, s := range sessions {
				_, put := b.PutSession(s, nil)
				err = errors.Join(err, put)
			}
			return err
		})
	})
}

// WithStore opens a database for as long as fn runs.
func WithStore(ctx context.Context, file string, fn func(db *sqlite.DB) error) error {
	db, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// Rows are all rows of a store.
type Rows struct {
	Sessions   map[string]*abi.Session // by key
	Flows      []*store.Flow
	Runs       []*store.Run        // in order of acceptance
	Messages   map[string][]string // by run
	Deliveries []*store.Delivery
	Due        []store.Due
}

// ReadRows reads all rows of a database in one snapshot. A gateway may use the database
// at the same time.
func ReadRows(ctx context.Context, file string) (r *Rows, err error) {
	err = WithStore(ctx, file, func(db *sqlite.DB) error {
		view, err := db.View(ctx)
		if err != nil {
			return err
		}
		r = &Rows{Sessions: map[string]*abi.Session{}, Messages: map[string][]string{}}
		return errors.Join(r.readWork(ctx, view), r.readSessions(ctx, view), view.Close())
	})
	return r, err
}

func (r *Rows) readWork(ctx context.Context, view store.View) (err error) {
	all := &store.Filter{Limit: 1 << 30}
	if r.Flows, err = view.Flows(ctx, all); err != nil {
		return err
	}
	if r.Deliveries, err = view.Deliveries(ctx, all); err != nil {
		return err
	}
	if r.Runs, err = view.Runs(ctx, all); err != nil {
		return err
	}
	slices.SortFunc(r.Runs, func(a, b *store.Run) int { return int(a.Seq - b.Seq) })
	for _, run := range r.Runs {
		messages, err := view.RunMessages(ctx, run.ID)
		if err != nil {
			return err
		}
		for _, m := range messages {
			r.Messages[run.ID] = append(r.Messages[run.ID], string(m))
		}
	}
	for _, kind := range kinds {
		due, err := view.Due(ctx, kind)
		if err != nil {
			return err
		}
		r.Due = append(r.Due, due...)
	}
	return nil
}

func (r *Rows) readSessions(ctx context.Context, view store.View) error {
	q := &abi.ListRequest{IncludeArchived: true, Limit: abi.MaxListLimit}
	for {
		page, err := view.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Rows {
			s := &page.Rows[i].Session
			r.Sessions[s.Key] = s
			q.After = &abi.Position{UpdatedAt: s.UpdatedAt, Key: s.Key}
		}
		if !page.More {
			return nil
		}
	}
}

// FlowRows are the rows of one flow.
type FlowRows struct {
	All        *Rows
	Flow       *store.Flow
	Runs       []*store.Run
	Deliveries []*store.Delivery
}

// ByFlow groups the rows by flow.
func (r *Rows) ByFlow() (all []*FlowRows) {
	of := map[string]*FlowRows{}
	for _, f := range r.Flows {
		of[f.ID] = &FlowRows{All: r, Flow: f}
		all = append(all, of[f.ID])
	}
	for _, run := range r.Runs {
		if s := of[run.FlowID]; s != nil {
			s.Runs = append(s.Runs, run)
		}
	}
	for _, d := range r.Deliveries {
		if s := of[d.FlowID]; s != nil {
			s.Deliveries = append(s.Deliveries, d)
		}
	}
	return all
}

// Messages returns the number of stored messages of a run with this role.
func (s *FlowRows) Messages(run *store.Run, role string) (n int) {
	for _, m := range s.All.Messages[run.ID] {
		if gjson.Get(m, "role").Str == role {
			n++
		}
	}
	return n
}

// Lines returns each row as a line of text.
func (r *Rows) Lines() (lines []string) {
	add := func(kind string, row any) {
		text, _ := json.Marshal(row) // a row can always be encoded
		lines = append(lines, fmt.Sprintf("%s %s", kind, text))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Sessions)) {
		add("session", r.Sessions[key])
	}
	for _, f := range r.Flows {
		add("flow", f)
	}
	for _, run := range r.Runs {
		add("run", run)
		add("messages", r.Messages[run.ID])
	}
	for _, d := range r.Deliveries {
		add("delivery", d)
	}
	for _, d := range r.Due {
		add("due", d)
	}
	return lines
}

// CheckEnded adds a problem for each flow, run and delivery that has not ended, for each
// one that is still scheduled, and for each run and delivery without a flow.
func (r *Rows) CheckEnded(t *Report) {
	flows := map[string]bool{}
	check := func(kind, id, flow, status string, ended bool) {
		if !ended {
			t.Fail("%s %s is %s", kind, id, status)
		}
		if !flows[flow] {
			t.Fail("%s %s has no flow", kind, id)
		}
	}
	for _, f := range r.Flows {
		flows[f.ID] = true
		check("flow", f.ID, f.ID, f.Status, f.Ended())
	}
	for _, run := range r.Runs {
		check("run", run.ID, run.FlowID, run.Status, run.Ended())
	}
	for _, d := range r.Deliveries {
		check("delivery", d.ID, d.FlowID, d.Status, d.Ended())
	}
	for _, d := range r.Due {
		t.Fail("%s %s is still scheduled", d.Kind, d.ID)
	}
}

// CheckSpawned adds a problem for each child session that no flow has spawned.
func (r *Rows) CheckSpawned(t *Report) {
	spawned := map[string]bool{}
	for _, f := range r.Flows {
		spawned[gjson.GetBytes(f.Answer, "childSessionKey").Str] = true
	}
	for key, s := range r.Sessions {
		if s.SpawnedBy != "" && !spawned[key] {
			t.Fail("no flow has spawned the child session %s", key)
		}
	}
}
