package relational

import "context"

const (
	activeChildren = Fixed("SELECT count(*) FROM runs WHERE spawned_by = $1 AND ended_at IS NULL")
	openRun        = Fixed("SELECT id FROM runs WHERE session_key = $1 AND ended_at IS NULL LIMIT 1")
)

// ActiveChildren returns the number of children whose first run has not ended.
func (s *Snapshot) ActiveChildren(ctx context.Context, parent string) (n int, err error) {
	_, err = s.conn.Row(ctx, activeChildren, []any{parent}, &n)
	return n, s.db.Wrap("count the children of "+parent, err)
}

// Busy reports whether the session has a run that has not ended.
func (s *Snapshot) Busy(ctx context.Context, sessionKey string) (bool, error) {
	var id string
	found, err := s.conn.Row(ctx, openRun, []any{sessionKey}, &id)
	return found, s.db.Wrap("look for runs of "+sessionKey, err)
}

// ActiveChildren is Snapshot.ActiveChildren within this transaction.
func (t *Tx) ActiveChildren(parent string) (n int, err error) {
	_, err = t.row("count the children of "+parent, activeChildren, []any{parent}, &n)
	return n, err
}

// Busy is Snapshot.Busy within this transaction.
func (t *Tx) Busy(sessionKey string) (bool, error) {
	var id string
	return t.row("look for runs of "+sessionKey, openRun, []any{sessionKey}, &id)
}

// sessionRemoval removes a session with all its rows. The order follows the foreign
// keys: messages reference their transcript, and a session its newest transcript.
var sessionRemoval = []Fixed{
	"DELETE FROM message_raws WHERE message IN (SELECT m.id FROM transcripts t JOIN messages m ON m.id > t.id << 32 AND m.id < (t.id + 1) << 32 WHERE t.session_key = $1)",
	"DELETE FROM messages WHERE id IN (SELECT m.id FROM transcripts t JOIN messages m ON m.id > t.id << 32 AND m.id < (t.id + 1) << 32 WHERE t.session_key = $1)",
	"DELETE FROM session_extras WHERE session IN (SELECT id FROM sessions WHERE key = $1)",
	"DELETE FROM sessions WHERE key = $1",
	"DELETE FROM transcripts WHERE session_key = $1",
}

// DeleteSession removes a session with all its transcripts.
func (t *Tx) DeleteSession(key string) error {
	for _, s := range sessionRemoval {
		if err := t.exec("delete session "+key, s, key); err != nil {
			return err
		}
	}
	delete(t.b.ends, key)
	return nil
}
