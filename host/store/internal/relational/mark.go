package relational

import "context"

const (
	getMark = Fixed("SELECT value FROM marks WHERE name = $1")
	setMark = Fixed("INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
)

// Mark returns the bookmark that SetMark stored under this name, or "".
func Mark(ctx context.Context, c Conn, name string) (value string, err error) {
	_, err = c.Row(ctx, getMark, []any{name}, &value)
	return value, err
}

// SetMark stores a bookmark.
func (b *Batch) SetMark(name, value string) error {
	if b.failed != nil {
		return b.failed
	}
	return b.keep("set mark "+name, b.conn.Exec(b.ctx, setMark, name, value))
}
