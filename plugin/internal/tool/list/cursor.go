package list

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// A cursor is a position in the order of the list: "<updatedAt>:<key>" of the last row
// of a page, in base64url. It contains only data that the caller has seen, and gives no
// access to other sessions.
var cursorEncoding = base64.RawURLEncoding.Strict()

func formatCursor(p abi.Position) string {
	b := append(strconv.AppendInt(nil, p.UpdatedAt, 10), ':')
	return cursorEncoding.EncodeToString(append(b, p.Key...))
}

func parseCursor(cursor string) (*abi.Position, bool) {
	if len(cursor) > 2*abi.MaxSessionKey {
		return nil, false
	}
	b, err := cursorEncoding.DecodeString(cursor)
	if err != nil {
		return nil, false
	}
	at, key, ok := strings.Cut(string(b), ":")
	updatedAt, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || updatedAt > abi.MaxSafeInteger || updatedAt < -abi.MaxSafeInteger || sessionkey.Check(key) != nil {
		return nil, false
	}
	return &abi.Position{UpdatedAt: updatedAt, Key: key}, true
}
