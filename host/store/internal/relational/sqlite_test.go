package relational_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
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

// TestDuplicateMessageID asserts that only a message with the same source id is
// updated. A conflict of message ids is an error, which rolls back the transaction.
func TestDuplicateMessageID(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	const key = "agent:main:main"
	message := func(source string) *store.Message {
		return &store.Message{SourceID: source, Role: "user", At: 1, JSON: []byte(`{"role":"user"}`)}
	}
	err = db.Update(t.Context(), func(tx store.Tx) error {
		if err := errors.Join(tx.PutSession(&abi.Session{Key: key, SessionID: "s"}), tx.Append(key, message("a"))); err != nil {
			return err
		}
		tx.(*relational.Tx).RewindEnd(key)
		return tx.Append(key, message("b"))
	})
	if !errors.Is(err, relational.ErrDuplicateKey) {
		t.Errorf("the second message has the id of the first: %v, want ErrDuplicateKey", err)
	}
}
