package relational

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
)

// listPosition is a position in the order of a list.
type listPosition struct {
	recency int64
	key     string
}

func (r *storedSession) compare(b listPosition) int {
	return cmp.Or(cmp.Compare(r.recency, b.recency), strings.Compare(r.key, b.key))
}

// List returns sessions, newest first, then by key.
func (s *Snapshot) List(ctx context.Context, r *abi.ListRequest) (*abi.ListPage, error) {
	if r.Limit < 1 || r.Limit > abi.MaxListLimit {
		return nil, abi.NewError(abi.InvalidArgs, "list: limit is not within 1 to 1000")
	}
	page, err := s.list(ctx, newFilter(r))
	return page, s.db.Wrap("list", err)
}

func (s *Snapshot) list(ctx context.Context, f *filter) (*abi.ListPage, error) {
	p, err := s.plan(ctx, f)
	if err != nil {
		return nil, err
	}
	from, until := listPosition{recency: math.MinInt64}, listPosition{recency: math.MaxInt64}
	if f.After != nil {
		from = listPosition{-f.After.UpdatedAt, f.After.Key}
	}
	if f.ActiveSince != 0 {
		until.recency = -f.ActiveSince
	}
	rows, err := s.collect(ctx, f, p, from, until)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, f, rows)
}

// collect returns the first rows of all ranges and keys, in order. If enough rows
// exist, it returns at least one more than the limit.
func (s *Snapshot) collect(ctx context.Context, f *filter, p *plan, from, until listPosition) ([]storedSession, error) {
	var rows []storedSession
	for source, spans := range p.ranges {
		for some := range slices.Chunk(spans, maxArms) {
			var err error
			if rows, err = s.merge(ctx, rows, f, source, from, until, some); err != nil {
				return nil, err
			}
		}
	}
	for _, key := range p.keys {
		var r storedSession
		found, err := s.conn.Row(ctx, sessionByKey, []any{key}, r.columns()...)
		if err != nil {
			return nil, err
		}
		if !found || r.compare(from) <= 0 {
			continue
		}
		if session := decodeSession(r.data); f.matches(&session) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b storedSession) int { return a.compare(listPosition{b.recency, b.key}) })
	return slices.CompactFunc(rows, func(a, b storedSession) bool { return a.key == b.key }), nil
}

// merge appends the first rows of some ranges of one index.
func (s *Snapshot) merge(ctx context.Context, to []storedSession, f *filter, source source, from, until listPosition, spans []span) ([]storedSession, error) {
	m := merge{source, 1 << bits.Len(uint(len(spans)-1)), f.needle != ""}
	query := s.conn.QueryBounded
	if m.search { // may skip any number of sessions
		query = s.conn.Query
	}
	rows, err := query(ctx, m, m.args(f, from, until, f.Limit+1, spans)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var r storedSession
	columns := r.columns()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		to = append(to, r)
	}
	return to, rows.Err()
}

// page builds a page of as many rows, with their messages, as limit and maxBytes
// allow.
func (s *Snapshot) page(ctx context.Context, f *filter, rows []storedSession) (*abi.ListPage, error) {
	page := &abi.ListPage{Rows: make([]abi.ListRow, 0, min(len(rows), f.Limit))}
	size := newBudget(f.MaxBytes, len(abi.AppendReply(nil, &abi.ListPage{})))
	for i := range rows {
		if len(page.Rows) == f.Limit {
			page.More = true
			break
		}
		row := abi.ListRow{Session: decodeSession(rows[i].data)}
		if f.Messages > 0 {
			var err error
			if row.Messages, err = s.newest(ctx, rows[i].transcript, f.Messages, size); err != nil {
				return nil, err
			}
		}
		if !size.add(row.AppendJSON, i == len(rows)-1) {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}
