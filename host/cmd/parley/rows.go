package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// resource describes flows, runs or deliveries to the commands that list and show them.
type resource[T any] struct {
	plural  string // also the name of the JSON member
	header  []string
	id      func(T) string
	cells   func(a *app, row T, now time.Time) []string // the cells of a table row after the id
	list    func(*gateway.Database, context.Context, *store.Filter) ([]T, error)
	get     func(*gateway.Database, context.Context, string) (T, error)
	missing string // the end of the error "there is no such …"
}

// show prints the rows that query returns, as JSON or as a table.
func (k *resource[T]) show(ctx context.Context, a *app, query func(*gateway.Database) ([]T, error)) error {
	return a.with(ctx, func(db *gateway.Database) error {
		rows, err := query(db)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.printValue(map[string]any{"count": len(rows), k.plural: orEmpty(rows)})
		case len(rows) == 0:
			a.note("no %s in %s", k.plural, db.Location())
		default:
			k.table(a, rows)
		}
		return nil
	})
}

// table prints rows, with ids truncated to the shortest length at which they are distinct.
func (k *resource[T]) table(a *app, rows []T) {
	length, now := shortLength(mapStrings(rows, k.id)), time.Now()
	table(a, k.header, rows, func(r T) []string {
		id := k.id(r)
		return append([]string{terminal.Line(id[:min(length, len(id))])}, k.cells(a, r, now)...)
	})
}

// section prints rows, which are newest first, below other output and oldest first.
func (k *resource[T]) section(a *app, rows []T) {
	if len(rows) > 0 {
		a.out.Println("")
		slices.Reverse(rows)
		k.table(a, rows)
	}
}

// maxSearch is the number of newest rows that are searched for a shortened id, and of the
// newest runs and deliveries that flows show prints.
const maxSearch = 500

// complete returns the full id for a shortened one, searching the newest rows (see
// completeID).
func (k *resource[T]) complete(ctx context.Context, db *gateway.Database, text string) (string, error) {
	rows, err := k.list(db, ctx, &store.Filter{Limit: maxSearch})
	if err != nil {
		return "", err
	}
	return completeID(text, mapStrings(rows, k.id))
}

// with calls fn with the row of the given id, which may be shortened.
func (k *resource[T]) with(ctx context.Context, a *app, text string, fn func(*gateway.Database, T) error) error {
	return a.with(ctx, func(db *gateway.Database) error {
		id, err := k.complete(ctx, db, text)
		if err != nil {
			return err
		}
		row, err := k.get(db, ctx, id)
		if err != nil {
			return k.notFound(text, err)
		}
		return fn(db, row)
	})
}

// notFound replaces a NotFound error with one that names the command to list the rows.
func (k *resource[T]) notFound(text string, err error) error {
	if errors.Is(err, abi.NotFound) {
		return fmt.Errorf("%s: there is no such %s", text, k.missing)
	}
	return err
}

// orEmpty replaces nil with an empty slice, so that JSON encodes it as [] and not as null.
func orEmpty[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// limitFlag is the flag of commands that list rows.
type limitFlag struct {
	Limit int `short:"n" default:"50" placeholder:"N" help:"At most this many (default ${default})."`
}

func (f *limitFlag) Validate() error { return checkLimit(f.Limit) }

// checkLimit refuses limits below 1, which a tool would clamp silently.
func checkLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("--limit %d: give a number from 1", n)
	}
	return nil
}

// checkAgent refuses an invalid agent id. An empty id is valid.
func checkAgent(id string) error {
	if _, err := sessionkey.AgentID(id); id != "" && err != nil {
		return fmt.Errorf("--agent %q: %w", id, err)
	}
	return nil
}

// idArg is the argument that names a flow, a run or a delivery.
type idArg struct {
	ID string `arg:"" help:"The id, or a prefix that is unique."`
}

// Validate refuses a blank id, which is a prefix of every id.
func (c *idArg) Validate() error {
	if strings.TrimSpace(c.ID) == "" {
		return errors.New("the id is blank: give the id, or a prefix that is unique")
	}
	return nil
}

// shortID is the minimum length of an id in a table.
const shortID = 10

// shortLength returns the length in bytes, at least shortID, at which truncated ids are
// distinct. It sorts ids.
func shortLength(ids []string) int {
	slices.Sort(ids)
	n := shortID
	for i := 1; i < len(ids); i++ {
		for a, b := ids[i-1], ids[i]; a != b && len(b) > n && strings.HasPrefix(b, a[:min(n, len(a))]); {
			n++
		}
	}
	return n
}

// completeID returns the only id that begins with text. If no id does, it returns text
// unchanged, which may be an id outside the list.
func completeID(text string, ids []string) (string, error) {
	var found []string
	for _, id := range ids {
		if id == text {
			return id, nil
		}
		if strings.HasPrefix(id, text) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return text, nil
	case 1:
		return found[0], nil
	}
	const most = 5
	more := ""
	if len(found) > most {
		found, more = found[:most], " …"
	}
	return "", usage(fmt.Errorf("%s: several ids have this prefix: %s%s: give a longer one", text, strings.Join(found, " "), more))
}
