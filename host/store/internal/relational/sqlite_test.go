package relational_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/parley-wasm/parley/host/store/internal/relational"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

func init() {
	relational.SQLite = func(t *testing.T) relational.Conn {
		db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		v, err := db.View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = v.Close() })
		return v.(interface{ Conn() relational.Conn }).Conn()
	}
}
