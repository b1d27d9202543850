package relational

import (
	"context"
	"fmt"
	"math"

	"github.com/parley-wasm/parley/abi"
)

// spawned lists the parents of all spawned sessions, newest session first. $1 is a
// lower bound of every recency.
const spawned = Fixed("SELECT spawned_by FROM sessions WHERE spawned_by IS NOT NULL AND recency >= $1 ORDER BY recency, key")

// Parents returns the parents of spawned sessions, starting with the parent of the
// newest one. It reads only the index entries of their children.
func (s *Snapshot) Parents(ctx context.Context, limit int) ([]string, error) {
	if limit < 1 {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("list of parents: limit is %d; it must be at least 1", limit))
	}
	parents, err := s.parents(ctx, limit)
	return parents, s.db.Wrap("list parents", err)
}

func (s *Snapshot) parents(ctx context.Context, limit int) ([]string, error) {
	rows, err := s.conn.Query(ctx, spawned, int64(math.MinInt64)) // a parent may have any number of children
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parents, seen := []string{}, map[string]bool{}
	var key string
	columns := []any{&key}
	for len(parents) < limit && rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		if !seen[key] {
			seen[key] = true
			parents = append(parents, key)
		}
	}
	return parents, rows.Err()
}
