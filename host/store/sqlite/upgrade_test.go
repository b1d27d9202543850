package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/store"
)

// TestUpgrade opens a database of schema 1. Its rows are kept, and it can store work.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := open(t, path)
	putOne(t, db)
	say := func(text string) error {
		return db.Load(context.Background(), func(b store.Batch) error {
			_, err := b.PutMessage(key, &store.Message{SourceID: text, Role: "user", JSON: []byte(`{"content":"` + text + `"}`)})
			return err
		})
	}
	if err := errors.Join(say("old"), db.Close()); err != nil {
		t.Fatal(err)
	}
	downgrade := []string{"DROP INDEX messages_by_run", "ALTER TABLE messages DROP COLUMN run_id", "DROP INDEX sessions_spawned", "DELETE FROM goose_db_version WHERE version_id > 1"}
	for _, table := range strings.Fields("flows runs deliveries work workers facts modules activations") {
		downgrade = append(downgrade, "DROP TABLE "+table)
	}
	execRaw(t, path, downgrade...)
	db = open(t, path)
	err := db.Update(context.Background(), func(tx store.Tx) error {
		return errors.Join(tx.PutRun(&store.Run{ID: "r"}), tx.Append(key, &store.Message{Role: "user", RunID: "r", JSON: []byte(`{"content":"new"}`)}))
	})
	if err := errors.Join(err, say("old")); err != nil {
		t.Fatal(err)
	}
	v, err := db.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	messages, err := v.RunMessages(context.Background(), "r")
	if err != nil || len(messages) != 1 || string(messages[0]) != `{"content":"new"}` {
		t.Errorf("the run has stored %q, %v", messages, err)
	}
	if got := len(historyOf(t, db)); got != 2 {
		t.Errorf("the transcript has %d messages; want 2", got)
	}
}

// TestDamagedRows asserts that reads fail for rows that the store cannot have encoded.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{"id":"r","seq":1`, `{"id":"r"} {"id":"s"}`, `{"id":"r","unheardOf":1}`, `{"id":7}`, ``} {
		path := filepath.Join(t.TempDir(), "parley.db")
		db := open(t, path)
		if err := db.Update(context.Background(), func(tx store.Tx) error { return tx.PutRun(&store.Run{ID: "r"}) }); err != nil {
			t.Fatal(err)
		}
		execRaw(t, path, "UPDATE runs SET data = '"+data+"'")
		v, err := db.View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Run(context.Background(), "r")
		_, err2 := v.Runs(context.Background(), nil)
		err3 := db.Update(context.Background(), func(tx store.Tx) error { _, err := tx.Run("r"); return err })
		for _, err := range []error{err, err2, err3} {
			if err == nil || !strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%s: %v", data, err)
			}
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}
