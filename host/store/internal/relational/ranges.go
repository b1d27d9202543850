package relational

import (
	"fmt"
	"strconv"
	"strings"
)

// source is an index that lists scan.
type source int

const (
	byKind        source = iota // sessions of one kind and archived state, of all agents
	byPartition                 // sessions of one partition
	byLabel                     // sessions of one partition with a label
	byParent                    // sessions of one partition that a session spawned
	byParentLabel               // sessions of one partition that a session spawned, with a label
)

// These statements list the partitions that contain sessions with a label or parent,
// with one index seek for each partition.
var (
	partitionsOfLabel       = skipScan("label = $1")
	partitionsOfParent      = skipScan("spawned_by = $1")
	partitionsOfParentLabel = skipScan("spawned_by = $1 AND label = $2")
)

func skipScan(where string) Fixed {
	return Fixed(`WITH RECURSIVE found(id) AS (
	SELECT min(partition_id) FROM sessions WHERE ` + where + `
	UNION ALL
	SELECT (SELECT min(partition_id) FROM sessions WHERE ` + where + ` AND partition_id > found.id) FROM found WHERE found.id IS NOT NULL
) SELECT id FROM found WHERE id IS NOT NULL`)
}

// maxArms is the maximum number of ranges that one statement merges. The time in which
// SQLite's driver binds parameters grows with the square of their number.
const maxArms = 32

// merge is the statement that merges index ranges of one source into list order. Each
// arm scans one range in that order. The database steps through all arms together, and
// reads a row only when it is next. The number of arms is a power of two, so that few
// variants are compiled.
type merge struct {
	from   source
	arms   int
	search bool
}

// SQL returns the statement. Its parameters are, in this order: recency and key of the
// position after which to start, the last recency, and the limit; label, parent and
// folded search text, each only if the variant has it; and the values of a span for
// each arm.
func (m merge) SQL(d Dialect) string {
	next := 4
	param := func() string { next++; return "$" + strconv.Itoa(next) }
	var common strings.Builder
	common.WriteString("(recency, key) > ($1, $2) AND recency <= $3")
	if m.from == byLabel || m.from == byParentLabel {
		common.WriteString(" AND label = " + param())
	}
	if m.from == byParent || m.from == byParentLabel {
		common.WriteString(" AND spawned_by = " + param())
	}
	if m.search {
		common.WriteString(" AND " + d.Contains("search", param()))
	}
	var b strings.Builder
	for i := range m.arms {
		if i > 0 {
			b.WriteString("\nUNION ALL ")
		}
		fmt.Fprintf(&b, "SELECT %s FROM sessions WHERE %s AND ", storedColumns, &common)
		if m.from == byKind {
			fmt.Fprintf(&b, "kind = %s AND archived = %s AND rest <> %s AND rest <> %s", param(), param(), param(), param())
		} else {
			fmt.Fprintf(&b, "partition_id = %s AND key <> %s AND key <> %s", param(), param(), param())
		}
	}
	b.WriteString("\nORDER BY recency, key" + limit(d, "$4"))
	return b.String()
}

// args returns the parameters for at most m.arms spans.
func (m merge) args(f *filter, from, until listPosition, limit int, spans []span) []any {
	args := []any{from.recency, from.key, until.recency, limit}
	if m.from == byLabel || m.from == byParentLabel {
		args = append(args, f.Label)
	}
	if m.from == byParent || m.from == byParentLabel {
		args = append(args, f.scope.SpawnedBy)
	}
	if m.search {
		args = append(args, f.needle)
	}
	for i := range m.arms {
		s := spans[min(i, len(spans)-1)]
		if i >= len(spans) {
			s.values = m.emptySpan()
		}
		args = append(append(args, s.values...), s.excluded[0], s.excluded[1])
	}
	return args
}

// emptySpan returns the values of a span without rows.
func (m merge) emptySpan() []any {
	if m.from == byKind {
		return []any{"", false}
	}
	return []any{int64(-1)}
}
