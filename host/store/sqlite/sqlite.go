// Package sqlite is the default session store: one SQLite file, without cgo. Its
// statements and rows are package relational's; this package is the file, its
// schema, its connections and its transactions.
//
// A database is in WAL mode with synchronous=FULL. One connection writes, in
// BEGIN IMMEDIATE transactions, one at a time, each with as many updates as are
// waiting for it (group.go); the others are query_only and
// each serves one snapshot at a time, which is a read transaction pinned when it
// is opened. Readers never wait for the writer, nor it for them.
//
// One process at a time may use a database. Open does not see to that: the caller
// acquires the lock first (Backend.Ownership).
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

// DefaultReaders is how many snapshots may be open at once by default.
const DefaultReaders = 16

// Options are the settings of a DB. nil and the zero value mean the defaults.
type Options struct {
	// Readers is how many snapshots may be open at once; one more waits for
	// another to be closed. 0 means DefaultReaders.
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

// DB is a store in a SQLite file. It is safe for concurrent use; who opened it
// closes it.
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

// Open opens the database at path, and creates it (mode 0600) and its folder
// (mode 0700) if they are missing. A schema older than the program's is brought
// up to date; a newer one, another program's database and a file that is no
// database are refused and left as they are.
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
	// A file that may only be read is noticed here.
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
	s, err := db.Snapshot(ctx) // whatever a reader would stumble over, it does so here
	if err != nil {
		return err
	}
	return s.Close()
}

// Close waits for the Load or the updates that run and closes the database;
// updates that wait have not been carried out, and say so. A snapshot that is
// still open stays good until it is closed; nothing new begins.
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

// explain says what failed, and of an error of SQLite's what to do.
func (db *DB) explain(doing string, err error) error {
	if explained := explain(db.path, err); explained != err || errors.Is(err, errClosed) {
		return explained
	}
	return fmt.Errorf("sqlite: %s: %w", doing, err)
}

// Secret returns 32 random bytes that belong to this store for ever.
func (db *DB) Secret() []byte { return bytes.Clone(db.secret) }

// Subscribe lets fn be called after each commit that scheduled work. A call that
// has begun may end after cancel has returned; none begins.
func (db *DB) Subscribe(fn func([]store.Due)) (cancel func()) { return db.subscribers.Subscribe(fn) }

// TranscriptPath returns the name that a session's transcript has beside the
// database wherever it is kept as a file (S2.3). Here it is in the database.
func (db *DB) TranscriptPath(sessionID string) string {
	return filepath.Join(filepath.Dir(db.path), sessionID+".jsonl")
}
