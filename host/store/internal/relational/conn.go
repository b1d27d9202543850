package relational

import (
	"context"
	"errors"
)

// ErrDuplicateKey is returned by Conn.Put when another row has one of the row's unique
// keys.
var ErrDuplicateKey = errors.New("another row has one of its keys")

// Conn is a connection to the database, in a transaction. It compiles each statement
// at its first execution. Only one goroutine at a time may use it. The caller must
// close the rows of a statement before it executes the statement again.
type Conn interface {
	// Query executes a statement that returns rows. Canceling ctx interrupts it.
	Query(ctx context.Context, s Statement, args ...any) (Rows, error)
	// QueryBounded is Query for statements with bounded cost. It checks ctx only before
	// the execution.
	QueryBounded(ctx context.Context, s Statement, args ...any) (Rows, error)
	// Row executes a statement with bounded cost that returns at most one row. It
	// scans the row and reports whether there was one.
	Row(ctx context.Context, s Statement, args []any, into ...any) (found bool, err error)
	// Exec executes a statement that returns no rows. A Conn may delay the execution
	// until the next statement that returns a result, or until the commit, and report
	// the error there.
	Exec(ctx context.Context, s Statement, args ...any) error
	// Put executes a statement that inserts or updates one row. It reports whether a
	// row was changed, because the statement may contain ON CONFLICT DO NOTHING. If
	// the row violates a unique key that the ON CONFLICT clause does not name, Put
	// changes nothing and returns ErrDuplicateKey, and the transaction remains usable.
	Put(ctx context.Context, s Statement, args ...any) (changed bool, err error)
}

// Rows are the rows that a statement returned. The caller must close them. A loop
// should scan every row into the same variables and slice: through an interface, each
// call of Scan allocates its arguments.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}
