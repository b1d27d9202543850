package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// conn is a connection with its compiled statements.
type conn struct {
	*sql.Conn
	compiled map[relational.Statement]*sql.Stmt
}

var _ relational.Conn = (*conn)(nil)

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, compiled: make(map[relational.Statement]*sql.Stmt)}, nil
}

func (c *conn) prepare(ctx context.Context, s relational.Statement) (*sql.Stmt, error) {
	if stmt := c.compiled[s]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.PrepareContext(ctx, s.SQL(dialect{}))
	if err != nil {
		return nil, err
	}
	c.compiled[s] = stmt
	return stmt, nil
}

// Query executes a statement that returns rows. Canceling ctx interrupts it.
func (c *conn) Query(ctx context.Context, s relational.Statement, args ...any) (relational.Rows, error) {
	stmt, err := c.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err // a nil *sql.Rows would be Rows that are not nil
	}
	return rows, nil
}

// QueryBounded checks ctx only before the execution: an interruptible query takes two
// more goroutines, and a small query then takes 50 % longer.
func (c *conn) QueryBounded(ctx context.Context, s relational.Statement, args ...any) (relational.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.Query(context.WithoutCancel(ctx), s, args...)
}

// Row executes a statement that returns at most one row. It scans the row and reports
// whether there was one. It uses ctx like QueryBounded.
func (c *conn) Row(ctx context.Context, s relational.Statement, args []any, into ...any) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	stmt, err := c.prepare(ctx, s)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRow(args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Exec executes a statement that returns no rows. It uses ctx like QueryBounded.
func (c *conn) Exec(ctx context.Context, s relational.Statement, args ...any) error {
	_, err := c.exec(ctx, s, args)
	return err
}

// Put executes a statement that inserts or updates one row. In SQLite, a statement
// that violates a constraint changes nothing, and the transaction remains usable.
func (c *conn) Put(ctx context.Context, s relational.Statement, args ...any) (bool, error) {
	result, err := c.exec(ctx, s, args)
	if isDuplicateKey(err) {
		return false, fmt.Errorf("%w: %w", relational.ErrDuplicateKey, err)
	}
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed > 0, err
}

func (c *conn) exec(ctx context.Context, s relational.Statement, args []any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stmt, err := c.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// close closes the statements and then the connection. The driver crashes in the other
// order, so close does not touch the statements of a connection that is closed already.
func (c *conn) close() error {
	if err := c.Raw(func(any) error { return nil }); err != nil {
		return err
	}
	for _, stmt := range c.compiled {
		_ = stmt.Close() // the connection is closed next
	}
	return c.Conn.Close()
}
