package relational

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
)

const (
	secretBytes = 32

	getSecret = Fixed("SELECT value FROM facts WHERE name = 'secret'")
	addSecret = Fixed("INSERT INTO facts (name, value) VALUES ('secret', $1) ON CONFLICT (name) DO NOTHING")
)

// Secret returns the store's secret (store.Durable), and creates it for a new store. c
// must be in a write transaction.
func Secret(ctx context.Context, c Conn) ([]byte, error) {
	var text string
	found, err := c.Row(ctx, getSecret, nil, &text)
	if err == nil && !found {
		secret := make([]byte, secretBytes)
		_, _ = rand.Read(secret) // never fails
		if err = c.Exec(ctx, addSecret, hex.EncodeToString(secret)); err == nil {
			_, err = c.Row(ctx, getSecret, nil, &text) // another process may have added one first
		}
	}
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(text)
	if err != nil || len(secret) != secretBytes {
		return nil, errors.New("the store's secret is damaged; restore the database from a backup")
	}
	return secret, nil
}
