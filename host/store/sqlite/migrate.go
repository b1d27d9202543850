package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate upgrades the database to the program's schema. It checks the database before
// it writes, so a database that it refuses stays unchanged, byte for byte.
func migrate(ctx context.Context, path string, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	known := sources[len(sources)-1].Version
	found, err := inspect(ctx, path, db)
	if err != nil {
		return err
	}
	if found > known {
		return fmt.Errorf("sqlite: %s has schema version %d, newer than %d, the last version that this program supports; "+
			"use the newer program that wrote it, or another file", path, found, known)
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("sqlite: %s cannot have a write-ahead log (mode %q); put it on a local file system", path, mode)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("sqlite: %s: upgrade the schema from version %d to %d: %w", path, found, known, err)
	}
	return nil
}

// inspect returns the schema's version, 0 for a new database. It fails for a database
// of another program.
func inspect(ctx context.Context, path string, db *sql.DB) (version int64, err error) {
	var id, tables, versions int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(name = $1), 0) FROM sqlite_schema
		WHERE type = 'table' AND name <> 'sqlite_sequence'`, goose.DefaultTablename).Scan(&tables, &versions)
	if err != nil {
		return 0, err
	}
	// The version table is created before migration 1. If it is the only table, a
	// first start was interrupted.
	if id != applicationID && (id != 0 || tables > versions) {
		return 0, fmt.Errorf("sqlite: %s is the database of another program; name another file", path)
	}
	if versions == 0 {
		return 0, nil
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	return version, err
}
