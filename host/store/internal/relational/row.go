package relational

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parley-wasm/parley/host/store"
)

// Statements that return the data of one row.
const (
	flowByID     = Fixed("SELECT data FROM flows WHERE id = $1")
	runByID      = Fixed("SELECT data FROM runs WHERE id = $1")
	deliveryByID = Fixed("SELECT data FROM deliveries WHERE id = $1")

	flowByCall   = Fixed("SELECT data FROM flows WHERE scope = $1 AND call_id = $2")
	runByRequest = Fixed("SELECT data FROM runs WHERE scope = $1 AND request_id = $2")
)

// encode returns the stored form of a flow, run or delivery. It removes white space
// from embedded raw JSON, and changes nothing else.
func encode(row any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(row)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// decode decodes the result of encode. It rejects unknown members and trailing data.
func decode[T any](data string) (*T, error) {
	row := new(T)
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(row)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return row, nil
		}
		err = errors.New("data after the row")
	}
	return nil, fmt.Errorf("a stored row cannot be read (%.80s): %w", data, err)
}

// find returns the row that the statement finds, or nil.
func find[T any](ctx context.Context, c Conn, s Statement, args ...any) (*T, error) {
	var data string
	found, err := c.Row(ctx, s, args, &data)
	if err != nil || !found {
		return nil, err
	}
	return decode[T](data)
}

// findCall is find for calls and requests. A key without an id matches no row.
func findCall[T any](ctx context.Context, c Conn, s Statement, call store.CallKey) (*T, error) {
	if call.ID == "" {
		return nil, nil
	}
	return find[T](ctx, c, s, call.Scope, call.ID)
}
