package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// statement is SQL that a connection compiles once. Statements are comparable.
type statement interface{ SQL() string }

// fixed is a statement that is written down.
type fixed string

func (f fixed) SQL() string { return string(f) }

// conn is a connection with its compiled statements. It is for one goroutine at
// a time, and a statement's rows must be closed before it runs again.
type conn struct {
	*sql.Conn
	compiled map[statement]*sql.Stmt
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, compiled: make(map[statement]*sql.Stmt)}, nil
}

func (c *conn) prepare(ctx context.Context, s statement) (*sql.Stmt, error) {
	if stmt := c.compiled[s]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.PrepareContext(ctx, s.SQL())
	if err != nil {
		return nil, err
	}
	c.compiled[s] = stmt
	return stmt, nil
}

// query runs a statement that returns rows. Canceling ctx interrupts it.
func (c *conn) query(ctx context.Context, s statement, args ...any) (*sql.Rows, error) {
	stmt, err := c.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// bounded is query for statements whose cost has a bound. It looks at ctx before,
// not while: what makes a query interruptible takes two goroutines, and half as
// long again as a small query itself.
func (c *conn) bounded(ctx context.Context, s statement, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.query(context.WithoutCancel(ctx), s, args...)
}

// row scans the single row of a statement whose cost has a bound, and reports
// whether there was one.
func (c *conn) row(ctx context.Context, s statement, args []any, into ...any) (bool, error) {
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

// exec runs a statement that returns no rows; of ctx see bounded.
func (c *conn) exec(ctx context.Context, s statement, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stmt, err := c.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(args...)
}

// close closes the connection, and its statements before it: the driver does not
// survive the other order, so those of a connection that is gone are left alone.
func (c *conn) close() error {
	if err := c.Raw(func(any) error { return nil }); err != nil {
		return err
	}
	for _, stmt := range c.compiled {
		_ = stmt.Close() // the connection goes next
	}
	return c.Conn.Close()
}

// errClosed is what a closed database answers.
var errClosed = errors.New("sqlite: the database is closed")

// pool lends the reading connections, up to a number of them.
type pool struct {
	db   *sql.DB
	free chan struct{} // holds one token for each connection that may still be lent

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func newPool(db *sql.DB, size int) *pool {
	db.SetMaxIdleConns(0) // idle ones are kept here; what is closed here must be gone
	p := &pool{db: db, free: make(chan struct{}, size)}
	for range size {
		p.free <- struct{}{}
	}
	return p
}

// get lends a connection, the last used first, and waits while all are out.
func (p *pool) get(ctx context.Context) (*conn, error) {
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	closed := p.closed
	var c *conn
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	var err error
	switch {
	case closed:
		err = errClosed
	case c == nil:
		c, err = newConn(ctx, p.db)
	}
	if err != nil {
		p.free <- struct{}{}
		return nil, err
	}
	return c, nil
}

// put takes a connection back; one that is not healthy is closed.
func (p *pool) put(c *conn, healthy bool) {
	p.mu.Lock()
	keep := healthy && !p.closed
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		_ = c.close() // nothing was written on it
	}
	p.free <- struct{}{}
}

// close closes the connections that are not lent; the others follow when they
// are put back.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.close()
	}
}
