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
			k.table(a, rows)
		}
		return nil
	})
}

// table prints rows, with their ids as short as they stay apart.
func (k *kind[T]) table(a *app, rows []T) {
	length, now := shortLength(texts(rows, k.id)), time.Now()
	table(a, k.header, rows, func(r T) []string {
		id := k.id(r)
		return append([]string{terminal.Line(id[:min(length, len(id))])}, k.cells(a, r, now)...)
	})
}

// below prints rows below what they belong to, oldest first.
func (k *kind[T]) below(a *app, rows []T) {
	if len(rows) > 0 {
		a.out.Println("")
		slices.Reverse(rows)
		k.table(a, rows)
	}
}

// maxSearch is among how many of the newest rows a short id is looked for.
const maxSearch = 500

// complete returns the id of the one of the newest rows that begins so, or the text as
// it is (see completeID).
func (k *kind[T]) complete(ctx context.Context, db *gateway.Database, text string) (string, error) {
	rows, err := k.list(db, ctx, &store.Filter{Limit: maxSearch})
	if err != nil {
		return "", err
	}
	return completeID(text, texts(rows, k.id))
}

// with does something with the row whose id a person gave, which may be short.
func (k *kind[T]) with(ctx context.Context, a *app, text string, fn func(*gateway.Database, T) error) error {
	return a.with(ctx, func(db *gateway.Database) error {
		id, err := k.complete(ctx, db, text)
		if err != nil {
			return err
		}
		row, err := k.get(db, ctx, id)
		if err != nil {
			return k.known(text, err)
		}
		return fn(db, row)
	})
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

// idArg names a flow, a run or a delivery.
type idArg struct {
	ID string `arg:"" help:"The id, or as much of it as tells it apart."`
}

// Validate refuses no id at all, which every id begins with.
func (c *idArg) Validate() error {
	if strings.TrimSpace(c.ID) == "" {
		return errors.New("the id is blank: write it, or as much of it as tells it apart")
	}
	return nil
}

// shortID is how much of an id a table shows at least.
const shortID = 10

// shortLength returns to how many bytes ids can be cut so that they stay apart.
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

// completeID returns the one id that begins so. A text that no id begins with is
// returned as it is: it may be an id that is not among them.
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
	return "", usage(fmt.Errorf("%s: several ids begin so: %s%s: write more of it", text, strings.Join(found, " "), more))
}
