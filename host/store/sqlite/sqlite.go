// Package sqlite is the default session store: one SQLite file, without cgo. Package
// relational defines the statements and rows. This package manages the file, its
// schema, its connections and its transactions.
//
// A database is in WAL mode with synchronous=FULL. One connection writes, in BEGIN
// IMMEDIATE transactions, one at a time. A transaction includes all updates that are
// waiting for it (group.go). The other connections are query_only. Each serves one
// snapshot at a time, which is a read transaction whose state is fixed when it is
// opened. Readers and the writer never wait for each other.
//
// Only one process at a time may use a database. Open does not enforce this: the
// caller must acquire the lock first (Backend.Ownership).
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/notify"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// DefaultReaders is the default of Options.Readers.
const DefaultReaders = 16

// Options are the settings of a DB. nil and the zero value mean the defaults.
type Options struct {
	// Readers is the maximum number of open snapshots. A further one waits until
	// another is closed. 0 means DefaultReaders.
	Readers int
}

func (o *Options) validate() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Readers < 0 {
		return v, fmt.Errorf("sqlite: Options.Readers is %d; it must not be negative", v.Readers)
	}
	if v.Readers == 0 {
		v.Readers = DefaultReaders
	}
	return v, nil
}

// DB is a store in a SQLite file. It is safe for concurrent use. The caller that opened
// it must close it.
type DB struct {
	path        string
	writing     *sql.DB
	reading     *sql.DB
	writer      *writer
	readers     *pool
	shared      *relational.Database
	subscribers notify.Subscribers
	secret      []byte
}

var (
	_ store.Loader  = (*DB)(nil)
	_ store.Durable = (*DB)(nil)
	_ store.Located = (*DB)(nil)
)

// Open opens the database at path, and creates it (mode 0600) and its folder (mode
// 0700) if they are missing. It upgrades an older schema. It refuses, and does not
// change, a database with a newer schema, a database of another program, and a file
// that is not a database.
func Open(ctx context.Context, path string, o *Options) (*DB, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	db := &DB{path: path}
	db.shared = relational.NewDatabase(db.explain)
	if err := db.open(ctx, options); err != nil {
		return nil, errors.Join(explain(path, err), db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, o Options) (err error) {
	if db.writing, err = connect(db.path, writerPragmas); err != nil {
		return err
	}
	db.writing.SetMaxOpenConns(1)
	if err := migrate(ctx, db.path, db.writing); err != nil {
		return err
	}
	if db.writer, err = newWriter(ctx, db); err != nil {
		return err
	}
	// This transaction fails if the file is read-only.
	err = db.writer.transaction(ctx, func() (err error) {
		db.secret, err = relational.Secret(ctx, db.writer.conn)
		return err
	})
	if err != nil {
		return db.shared.Wrap("read the secret of "+db.path, err)
	}
	if db.reading, err = connect(db.path, readerPragmas); err != nil {
		return err
	}
	db.readers = newPool(db.reading, o.Readers)
	s, err := db.Snapshot(ctx) // reports now any error that every reader would meet
	if err != nil {
		return err
	}
	return s.Close()
}

// Close waits for the running Load or updates and closes the database. Updates that
// have not begun fail. An open snapshot remains usable until it is closed.
func (db *DB) Close() error {
	var errs []error
	if db.readers != nil {
		db.readers.close()
	}
	if db.reading != nil {
		errs = append(errs, db.reading.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	if db.writing != nil {
		errs = append(errs, db.writing.Close())
	}
	return explain(db.path, errors.Join(errs...))
}

// explain wraps a known error of SQLite with its remedy, and any other error with the
// failed operation.
func (db *DB) explain(doing string, err error) error {
	if explained := explain(db.path, err); explained != err || errors.Is(err, errClosed) {
		return explained
	}
	return fmt.Errorf("sqlite: %s: %w", doing, err)
}

// Secret returns the 32 random bytes of this store, which never change.
func (db *DB) Secret() []byte { return bytes.Clone(db.secret) }

// Subscribe registers fn to be called after each commit that scheduled work. After
// cancel has returned, no call begins, but a call in progress may continue.
func (db *DB) Subscribe(fn func([]store.Due)) (cancel func()) { return db.subscribers.Subscribe(fn) }

// TranscriptPath returns the path that a session's transcript would have as a file next
// to the database (S2.3). The transcript itself is stored in the database.
func (db *DB) TranscriptPath(sessionID string) string {
	return filepath.Join(filepath.Dir(db.path), sessionID+".jsonl")
}
