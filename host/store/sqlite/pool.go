package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

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
