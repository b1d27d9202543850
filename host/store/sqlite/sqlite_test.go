package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/host/store/storetest"
)

// open opens a database and closes it when the test ends.
func open(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T) store.Loader { return open(t, filepath.Join(t.TempDir(), "parley.db")) })
}

func TestDurable(t *testing.T) {
	t.Parallel()
	storetest.ExerciseDurable(t, func(t *testing.T) (store.Durable, func() store.Durable) {
		path := filepath.Join(t.TempDir(), "parley.db")
		db := open(t, path)
		return db, func() store.Durable {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, path)
		}
	})
}
