package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// applicationID marks a database as Parley's; migration 1 sets it.
const applicationID = 0x50726c79 // "Prly"

// The pragmas of connections. busy_timeout is the longest wait, in milliseconds, for
// another process that writes, which happens only while a new owner takes over.
// temp_store keeps the rollback data of savepoints, which are small, in memory: files
// for them took more than a third of the time of updates.
var (
	writerPragmas = []string{"busy_timeout(5000)", "synchronous(FULL)", "foreign_keys(ON)", "journal_size_limit(67108864)", "temp_store(MEMORY)"}
	readerPragmas = []string{"busy_timeout(5000)", "query_only(ON)"}
)

// The statements of this backend: transactions, savepoints and the checkpoint.
const (
	beginRead  = relational.Fixed("BEGIN")
	endRead    = relational.Fixed("COMMIT")
	beginWrite = relational.Fixed("BEGIN IMMEDIATE")
	checkpoint = relational.Fixed("PRAGMA wal_checkpoint(PASSIVE)")
	commit     = relational.Fixed("COMMIT")
	rollback   = relational.Fixed("ROLLBACK")
	savepoint  = relational.Fixed("SAVEPOINT member")
	release    = relational.Fixed("RELEASE member")
	undo       = relational.Fixed("ROLLBACK TO member")
)

// dialect is the SQL dialect of SQLite.
type dialect struct{}

var _ relational.Dialect = dialect{}

// Count returns a sum on purpose: for a bare parameter, SQLite plans by its value and
// recompiles the statement at each execution, which costs more than the execution.
func (dialect) Count(parameter string) string { return parameter + " + 0" }

// Unindexed returns the column with a unary plus, which makes SQLite ignore indexes.
func (dialect) Unindexed(column string) string { return "+" + column }

func (dialect) Contains(column, parameter string) string {
	return "instr(" + column + ", " + parameter + ") > 0"
}

func (dialect) JSON(column string) string { return column }

// Next needs no sequence, because only one transaction writes at a time.
func (dialect) Next(table string) string { return "SELECT coalesce(max(seq), 0) + 1 FROM " + table }

// ForUpdate is empty, because a write transaction locks the whole database.
func (dialect) ForUpdate(string) string { return "" }

// isDuplicateKey reports whether a row was refused because another row has one of its
// keys.
func isDuplicateKey(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// connect returns a pool of connections to the file.
func connect(path string, pragmas []string) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	absolute = "/" + strings.TrimPrefix(filepath.ToSlash(absolute), "/")
	name := url.URL{Scheme: "file", Path: absolute, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	connector, err := driver.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// diagnosis is an error that explain has created.
type diagnosis struct{ error }

func (d *diagnosis) Unwrap() error { return d.error }

// explain wraps an error of SQLite with its meaning for the file and the remedy. It
// returns all other errors, and errors that it has wrapped already, unchanged.
func explain(path string, err error) error {
	var e *driver.Error
	if !errors.As(err, &e) || errors.As(err, new(*diagnosis)) {
		return err
	}
	var advice string
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		advice = "is not a database; name another file, or move this one away"
	case sqlite3.SQLITE_CORRUPT:
		advice = "is damaged; restore it from a backup, or move it away and import again"
	case sqlite3.SQLITE_CANTOPEN:
		advice = "cannot be opened; check that the folder exists and that you may write in it"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		advice = "cannot be written; check the permissions of the file and its folder"
	case sqlite3.SQLITE_FULL:
		advice = "cannot grow because the disk is full; the change was rolled back"
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		advice = "is locked by another process; wait for that process or end it"
	case sqlite3.SQLITE_IOERR:
		advice = "cannot be read or written; check the disk"
	case sqlite3.SQLITE_TOOBIG:
		advice = "cannot store a value of this length (1 GB at most)"
	default:
		return err
	}
	return &diagnosis{fmt.Errorf("sqlite: %s %s: %w", path, advice, err)}
}
