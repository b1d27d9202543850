package relational

import "context"

const (
	getBookmark = Fixed("SELECT value FROM marks WHERE name = $1")
	setBookmark = Fixed("INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
)

// Bookmark returns the bookmark that Batch.SetBookmark stored under this name, or "".
func Bookmark(ctx context.Context, c Conn, name string) (value string, err error) {
	_, err = c.Row(ctx, getBookmark, []any{name}, &value)
	return value, err
}

// SetBookmark stores a bookmark.
func (b *Batch) SetBookmark(name, value string) error {
	if b.failed != nil {
		return b.failed
	}
	return b.recordFailure("set bookmark "+name, b.conn.Exec(b.ctx, setBookmark, name, value))
}
