package relational

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// A message's id is transcript id * 2^32 + seq. Its ordinal is transcript id * 2^32 +
// the number of messages up to it that are not tool results
// (sqlite/migrations/00001_sessions.sql).
const seqBits = 32

func idOf(transcript, seq int64) int64 { return transcript<<seqBits | seq }

func seqOf(id int64) int64 { return id & (1<<seqBits - 1) }

const maxSeq = 1<<seqBits - 1

const (
	transcriptOf = Fixed("SELECT transcript_id FROM sessions WHERE key = $1")

	// The newest message with an id in ($1, $2].
	newestOf = Fixed("SELECT id, ordinal FROM messages WHERE id > $1 AND id <= $2 ORDER BY id DESC LIMIT 1")
)

// tail is the statement that reads at most $3 messages from the end of a transcript,
// with ids in ($1, $2]. If withoutTools is set, ($1, $2] is a range of ordinals.
type tail struct {
	withoutTools bool // exclude tool results
	excluded     int  // number of further excluded roles, which are parameters from $5 on; $4 is the offset
}

func (t tail) SQL(d Dialect) string {
	by, where := "id", ""
	if t.withoutTools {
		by, where = "ordinal", " AND NOT tool_result"
	}
	for i := range t.excluded {
		where += " AND role <> $" + strconv.Itoa(5+i)
	}
	offset := ""
	if t.excluded > 0 {
		offset = " OFFSET " + d.Count("$4")
	}
	return strings.NewReplacer("@by", by, "@where", where).Replace(
		"SELECT id, coalesce(cut, ''), body FROM messages WHERE @by > $1 AND @by <= $2@where ORDER BY @by DESC") + limit(d, "$3") + offset
}

// History returns messages, newest first. For an unknown session it returns an empty
// page.
func (s *Snapshot) History(ctx context.Context, r *abi.HistoryRequest) (*abi.HistoryPage, error) {
	if r.Limit < 1 || r.Limit > abi.MaxHistoryLimit || r.Skip < 0 || r.Before < 0 {
		return nil, abi.NewError(abi.InvalidArgs, "history: limit is not within 1 to 1000, or skip or before is negative")
	}
	page, err := s.history(ctx, r)
	return page, s.db.Wrap("history", err)
}

func (s *Snapshot) history(ctx context.Context, r *abi.HistoryRequest) (*abi.HistoryPage, error) {
	var transcript int64
	found, err := s.conn.Row(ctx, transcriptOf, []any{r.SessionKey}, &transcript)
	if err != nil || !found {
		return &abi.HistoryPage{}, err
	}
	first, last := idOf(transcript, 0), idOf(transcript, maxSeq)
	if r.Before > 0 {
		last = idOf(transcript, min(r.Before-1, maxSeq))
	}
	t, others := tailFor(r.ExcludeRoles)
	if t.withoutTools && r.Before > 0 || t.excluded == 0 && r.Skip > 0 {
		var id, ordinal int64
		found, err := s.conn.Row(ctx, newestOf, []any{first, last}, &id, &ordinal)
		if err != nil || !found {
			return &abi.HistoryPage{}, err
		}
		last = id
		if t.withoutTools {
			last = ordinal
		}
		if t.excluded == 0 {
			last -= int64(r.Skip)
		}
	}
	return s.read(ctx, t, r, first, last, others)
}

// tailFor returns the statement that excludes the roles, and the roles that the
// statement takes as parameters.
func tailFor(roles []string) (tail, []any) {
	var t tail
	t.withoutTools = !slices.ContainsFunc(store.ToolResultRoles, func(role string) bool { return !slices.Contains(roles, role) })
	var others []any
	for _, role := range roles {
		if !(t.withoutTools && store.IsToolResult(role)) && !slices.Contains(others, any(role)) {
			others = append(others, role)
		}
	}
	t.excluded = len(others)
	return t, others
}

func (s *Snapshot) read(ctx context.Context, t tail, r *abi.HistoryRequest, first, last int64, others []any) (*abi.HistoryPage, error) {
	page := &abi.HistoryPage{}
	args, query := []any{first, last, r.Limit + 1}, s.conn.QueryBounded
	if t.excluded > 0 { // may skip any number of messages
		args, query = append(append(args, r.Skip), others...), s.conn.Query
	}
	rows, err := query(ctx, t, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	size := newBudget(r.MaxBytes, len(abi.AppendReply(nil, page)))
	scanner := newMessageScanner(rows)
	var m abi.Message
	for last := !rows.Next(); !last; {
		if m, err = scanner.scan(); err != nil {
			return nil, err
		}
		last = !rows.Next()
		if len(page.Messages) == r.Limit || !size.add(m.AppendJSON, last) {
			page.More = true
			break
		}
		page.Messages = append(page.Messages, m)
	}
	return page, rows.Err()
}

// messageScanner scans the rows of a tail into the same variables: allocating them for
// each row would take a tenth of the time of a history.
type messageScanner struct {
	rows              Rows
	id                int64
	truncations, body string
	into              [3]any
}

func newMessageScanner(rows Rows) *messageScanner {
	s := &messageScanner{rows: rows}
	s.into = [...]any{&s.id, &s.truncations, &s.body}
	return s
}

func (s *messageScanner) scan() (abi.Message, error) {
	err := s.rows.Scan(s.into[:]...)
	return decodeMessage(s.id, s.body, s.truncations), err
}

// newest returns the last n messages without tool results, oldest first. It stops
// reading when the messages can no longer fit into the reply.
func (s *Snapshot) newest(ctx context.Context, transcript int64, n int, size *budget) ([]abi.Message, error) {
	rows, err := s.conn.QueryBounded(ctx, tail{withoutTools: true}, idOf(transcript, 0), idOf(transcript, maxSeq), n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	scanner := newMessageScanner(rows)
	messages := make([]abi.Message, 0, n)
	bytes := 0
	for rows.Next() && !size.exceeds(bytes) {
		m, err := scanner.scan()
		if err != nil {
			return nil, err
		}
		bytes += len(m.JSON)
		messages = append(messages, m)
	}
	slices.Reverse(messages)
	return messages, rows.Err()
}
