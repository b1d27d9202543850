package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// kind is what the commands for flows, runs and deliveries have in common.
type kind[T any] struct {
	plural string // as in JSON
	header []string
	id     func(T) string
	cells  func(a *app, row T, now time.Time) []string // of a table, after the id
	list   func(*gateway.Database, context.Context, *store.Filter) ([]T, error)
	get    func(*gateway.Database, context.Context, string) (T, error)
	none   string // the end of "there is no such …"
}

// show lists the rows that ask returns: as JSON, as a table, or that there are none.
func (k *kind[T]) show(ctx context.Context, a *app, ask func(*gateway.Database) ([]T, error)) error {
	return a.with(ctx, func(db *gateway.Database) error {
		rows, err := ask(db)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.printValue(map[string]any{"count": len(rows), k.plural: orEmpty(rows)})
		case len(rows) == 0:
			a.note("no %s in %s", k.plural, db.Location())
		default:
			k.table(a, rows, time.Now())
		}
		return nil
	})
}

// table prints rows, with their ids as short as they stay apart.
func (k *kind[T]) table(a *app, rows []T, now time.Time) {
	short := shortIDs(k.ids(rows))
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = append([]string{terminal.Line(short[k.id(r)])}, k.cells(a, r, now)...)
	}
	a.out.Table(k.header, cells)
}

func (k *kind[T]) ids(rows []T) []string { return idsOf(rows, k.id) }

// maxSearch is among how many of the newest rows a short id is looked for.
const maxSearch = 500

// complete returns the id of the one of the newest rows that begins so, or the text as
// it is (see completeID).
func (k *kind[T]) complete(ctx context.Context, db *gateway.Database, text string) (string, error) {
	rows, err := k.list(db, ctx, &store.Filter{Limit: maxSearch})
	if err != nil {
		return "", err
	}
	return completeID(text, k.ids(rows))
}

// find returns the row whose id a person gave, which may be short.
func (k *kind[T]) find(ctx context.Context, db *gateway.Database, text string) (row T, err error) {
	id, err := k.complete(ctx, db, text)
	if err != nil {
		return row, err
	}
	row, err = k.get(db, ctx, id)
	return row, k.known(text, err)
}

// known says in a person's terms that there is no such row.
func (k *kind[T]) known(text string, err error) error {
	if errors.Is(err, abi.NotFound) {
		return fmt.Errorf("%s: there is no such %s", text, k.none)
	}
	return err
}

// orEmpty makes no rows an empty list, which JSON does not write as null.
func orEmpty[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// limitFlag is the flag of commands that list something.
type limitFlag struct {
	Limit int `short:"n" default:"50" placeholder:"N" help:"At most this many (default ${default})."`
}

// Validate checks the limit.
func (f *limitFlag) Validate() error { return checkLimit(f.Limit) }

// checkLimit refuses what a tool would clamp in silence.
func checkLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("--limit %d: give a number from 1", n)
	}
	return nil
}

// checkAgent refuses the id of an agent that none can have.
func checkAgent(id string) error {
	if _, err := sessionkey.AgentID(id); id != "" && err != nil {
		return fmt.Errorf("--agent %q: %w", id, err)
	}
	return nil
}
