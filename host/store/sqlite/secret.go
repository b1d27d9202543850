package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

const (
	secretBytes = 32

	getSecret = fixed("SELECT value FROM facts WHERE name = 'secret'")
	addSecret = fixed("INSERT INTO facts (name, value) VALUES ('secret', $1)")
)

// findSecret reads the store's secret, and makes one for a new store. It runs in
// a write transaction.
func (db *DB) findSecret(ctx context.Context) error {
	var text string
	found, err := db.writer.row(ctx, getSecret, nil, &text)
	if err != nil {
		return err
	}
	if !found {
		secret := make([]byte, secretBytes)
		_, _ = rand.Read(secret) // never fails
		text = hex.EncodeToString(secret)
		if _, err := db.writer.exec(ctx, addSecret, text); err != nil {
			return err
		}
	}
	db.secret, err = hex.DecodeString(text)
	if err != nil || len(db.secret) != secretBytes {
		return fmt.Errorf("sqlite: the secret of %s is damaged; restore the database from a copy", db.path)
	}
	return nil
}

// Secret returns 32 random bytes that belong to this store for ever.
func (db *DB) Secret() []byte { return bytes.Clone(db.secret) }
