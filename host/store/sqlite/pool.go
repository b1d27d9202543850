package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// errClosed is the error of every operation on a closed database.
var errClosed = errors.New("sqlite: the database is closed")

// pool is a bounded pool of reading connections.
type pool struct {
	db   *sql.DB
	free chan struct{} // holds one token for each connection that is not in use

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func newPool(db *sql.DB, size int) *pool {
	db.SetMaxIdleConns(0) // this pool keeps idle connections itself; db must close a returned one at once
	p := &pool{db: db, free: make(chan struct{}, size)}
	for range size {
		p.free <- struct{}{}
	}
	return p
}

// get returns the most recently used idle connection, or opens one. It blocks while all
// connections are in use.
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

// put returns a connection to the pool. It closes a connection that is not healthy.
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

// close closes the idle connections. A connection in use is closed when it is returned.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.close()
	}
}
