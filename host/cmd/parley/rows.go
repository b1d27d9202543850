package main

import (
	"fmt"
	"github.com/parley-wasm/parley/host/gateway"
	"time"
)

// showRows prints a list of flows, runs or deliveries: as JSON, as a table, or that
// there are none.
func showRows[T any](a *app, db *gateway.Database, name string, rows []T, table func([]T, time.Time)) error {
	switch {
	case a.JSON:
		return a.printValue(map[string]any{"count": len(rows), name: orEmpty(rows)})
	case len(rows) == 0:
		a.note("no %s in %s", name, db.Path())
	default:
		table(rows, time.Now())
	}
	return nil
}

// orEmpty makes no rows an empty list, which JSON does not write as null.
func orEmpty[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

func checkLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("--limit %d: give a number from 1", n)
	}
	return nil
}
