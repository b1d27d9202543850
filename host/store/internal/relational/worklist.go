package relational

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// defaultWorkLimit is the limit of a list of work when the filter sets none.
const defaultWorkLimit = 100

// Columns by which a list of work selects rows. Each except byID has an index that ends
// in created and seq.
const (
	anyRow    = ""
	byStatus  = "status"
	bySession = "session_key"
	byFlow    = "flow_id"
	byID      = "id" // a flow's own id
)

// worklist is the statement that lists rows of a table, newest first, by scanning an
// index from its end. $1 is the limit, and $2 the earliest time of creation. $3 is the
// value of the column by, if set. The session key and the statuses to filter by follow.
type worklist struct {
	table    string
	by       string
	session  bool
	statuses int
}

func (l worklist) SQL(d Dialect) string {
	var b strings.Builder
	n := 2
	next := func() string { n++; return "$" + strconv.Itoa(n) }
	b.WriteString("SELECT created, seq, data FROM " + l.table + " WHERE created >= $2")
	if l.by != anyRow {
		b.WriteString(" AND " + l.by + " = " + next())
	}
	if l.session {
		b.WriteString(" AND " + d.Unindexed("session_key") + " = " + next())
	}
	for i := range l.statuses {
		b.WriteString([]string{" AND " + d.Unindexed("status") + " IN (", ", "}[min(i, 1)] + next())
	}
	if l.statuses > 0 {
		b.WriteString(")")
	}
	b.WriteString(" ORDER BY created DESC, seq DESC" + limit(d, "$1"))
	return b.String()
}

// workRow is a row of a list, with its position in list order.
type workRow[T any] struct {
	created, seq int64
	row          *T
}

// listWork lists rows, newest first. It selects by flow or session, which have few
// rows, or merges the newest rows of each status.
func listWork[T any](ctx context.Context, s *Snapshot, table string, f *store.Filter) ([]*T, error) {
	if f == nil {
		f = &store.Filter{}
	}
	most, since := f.Limit, f.Since
	if most < 0 {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("list of %s: limit is %d; it must not be negative", table, most))
	}
	if most == 0 {
		most = defaultWorkLimit
	}
	if since == 0 {
		since = math.MinInt64
	}
	l, args := worklist{table: table}, []any{most, since}
	statuses := slices.Compact(slices.Sorted(slices.Values(f.Statuses)))
	var arms []string // statuses to select by, one after the other
	switch {
	case f.FlowID != "":
		l.by = byFlow
		if table == "flows" {
			l.by = byID
		}
		args = append(args, f.FlowID)
		if l.session = f.SessionKey != ""; l.session {
			args = append(args, f.SessionKey)
		}
	case f.SessionKey != "":
		l.by, args = bySession, append(args, f.SessionKey)
	case len(statuses) > 0:
		l.by, arms = byStatus, statuses
	}
	if arms == nil {
		l.statuses = len(statuses)
		for _, status := range statuses {
			args = append(args, status)
		}
		rows, err := walk[T](ctx, s, nil, l, args)
		return newest(rows, most), s.db.Wrap("list "+table, err)
	}
	var rows []workRow[T]
	for _, status := range arms {
		var err error
		if rows, err = walk(ctx, s, rows, l, append(args, status)); err != nil {
			return nil, s.db.Wrap("list "+table, err)
		}
	}
	return newest(rows, most), nil
}

func walk[T any](ctx context.Context, s *Snapshot, to []workRow[T], l worklist, args []any) ([]workRow[T], error) {
	rows, err := s.conn.Query(ctx, l, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var r workRow[T]
	var data string
	columns := []any{&r.created, &r.seq, &data}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		if r.row, err = decode[T](data); err != nil {
			return nil, err
		}
		to = append(to, r)
	}
	return to, rows.Err()
}

// newest returns the first rows in list order.
func newest[T any](rows []workRow[T], most int) []*T {
	slices.SortFunc(rows, func(a, b workRow[T]) int { return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(b.seq, a.seq)) })
	all := make([]*T, 0, min(len(rows), most))
	for _, r := range rows[:min(len(rows), most)] {
		all = append(all, r.row)
	}
	return all
}
