package relational

import (
	"context"
	"errors"
)

// ErrTaken is returned by Conn.Put for a row whose key another row has.
var ErrTaken = errors.New("another row has one of its keys")

// Conn is a connection to the database, in a transaction. It compiles a statement
// when it executes it for the first time. It is for one goroutine at a time, and
// rows must be closed before their statement is executed again.
type Conn interface {
	// Query executes a statement that returns rows. Canceling ctx interrupts it.
	Query(ctx context.Context, s Statement, args ...any) (Rows, error)
	// Bounded is Query for statements whose cost has a bound, which need not be
	// interrupted: it suffices to look at ctx before.
	Bounded(ctx context.Context, s Statement, args ...any) (Rows, error)
	// Row scans the single row of a statement whose cost has a bound, and reports
	// whether there was one.
	Row(ctx context.Context, s Statement, args []any, into ...any) (found bool, err error)
	// Exec executes a statement that returns no rows. The Conn may delay it until the
	// next statement that returns something, or until the commit, and then report
	// its error there.
	Exec(ctx context.Context, s Statement, args ...any) error
	// Put executes a statement that inserts or updates one row, and reports whether it
	// did: a statement may say ON CONFLICT DO NOTHING. When another row has a key that
	// the statement says nothing of, it changes nothing, returns ErrTaken, and the
	// transaction continues.
	Put(ctx context.Context, s Statement, args ...any) (changed bool, err error)
}

// Rows are the rows that a statement returned. The caller must close them. Loops
// scan every row into the same variables and slice: through an interface, the
// arguments of Scan are allocated at each call.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}
