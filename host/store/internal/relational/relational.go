// Package relational is the part of a session store that is the same in every SQL
// database: the statements and their plans, how rows are encoded, and the reads and
// writes of package store made of them.
//
// A backend, such as store/sqlite, is the rest: it opens and migrates its database,
// begins and ends transactions, and gives connections (Conn) that compile each
// Statement once, in the backend's Dialect. In a read transaction it makes a
// Snapshot, in a write transaction a Tx or a Batch.
//
// The cost of a request depends on what it returns. Lists walk index ranges that
// contain no other rows (list.go), histories read a transcript from its end
// (history.go), and a message too long for a history is shortened once, when it
// is written. Only a search reads further, through one index. Flows, runs and
// deliveries are stored as JSON beside the columns that they are found by (row.go).
//
// What a backend must see to:
//
//   - A Snapshot's transaction reads one state of the database, fixed by the first
//     statement.
//   - Updates are as if each began after the previous one had committed. Rows that
//     are read to be changed are read with Dialect.ForUpdate.
//   - Texts compare byte by byte.
//   - A Conn's error ends the transaction that it is in: neither a Tx nor a Batch
//     executes anything after one, and End reports it: then the backend rolls back.
package relational

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/parley-wasm/parley/abi"
)

// Database is what all connections to one database share. It is safe for
// concurrent use.
type Database struct {
	explain    func(doing string, err error) error
	partitions atomic.Pointer[[]partition]
}

// NewDatabase returns the shared part of a backend's database. explain makes an
// error for the user of an error of the backend's own.
func NewDatabase(explain func(doing string, err error) error) *Database {
	return &Database{explain: explain}
}

// Wrap explains what failed. Cancellation and the contract's own errors are
// returned as they are.
func (db *Database) Wrap(doing string, err error) error {
	var known *abi.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return db.explain(doing, err)
}
