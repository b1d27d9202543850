// Package relational implements the part of a session store that is common to all SQL
// databases: the statements and their plans, the encoding of rows, and the reads and
// writes of package store.
//
// A backend, such as store/sqlite, implements the rest. It opens and migrates its
// database, begins and ends transactions, and provides connections (Conn) that compile
// each Statement once, in the backend's Dialect. It creates a Snapshot in a read
// transaction, and a Tx or a Batch in a write transaction.
//
// The cost of a request depends on the size of its result. Lists scan index ranges
// that contain no other rows (list.go), and histories read a transcript from its end
// (history.go). A message that is too long for a history is shortened once, when it is
// written. Only a search reads more rows, through one index. Flows, runs and
// deliveries are stored as JSON, with extra columns for the fields by which they are
// searched (row.go).
//
// A backend must guarantee the following:
//
//   - A Snapshot's transaction reads one state of the database, which its first
//     statement fixes.
//   - Updates are serializable, in the order of their commits. Rows that are read in
//     order to change them are read with Dialect.ForUpdate.
//   - Texts compare byte by byte.
//   - After an error of a Conn, the transaction is rolled back. Tx and Batch execute
//     no further statements after an error, and End returns it to the backend.
package relational

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/parley-wasm/parley/abi"
)

// Database holds the state that all connections to one database share. It is safe for
// concurrent use.
type Database struct {
	explain    func(operation string, err error) error
	partitions atomic.Pointer[[]partition]
}

// NewDatabase returns the shared state of a backend's database. explain turns an error
// of the backend into one for the user.
func NewDatabase(explain func(operation string, err error) error) *Database {
	return &Database{explain: explain}
}

// Wrap explains an error of an operation. It returns abi errors and the errors of
// contexts unchanged.
func (db *Database) Wrap(operation string, err error) error {
	var known *abi.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return db.explain(operation, err)
}
