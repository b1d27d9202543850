package sqlite

// prunable is what may be removed of a table: rows whose column says that they
// ended before $1. A run or delivery stays while its flow goes on, which may want
// to know of it; so does a worker whose name is on a claim, and the newest run,
// from which the next one gets its number.
type prunable struct{ table, key, ended, unless string }

var prunables = []prunable{
	{"flows", "seq", "ended_at", ""},
	{"runs", "seq", "ended_at", " AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = runs.flow_id AND flows.ended_at IS NULL) AND seq < (SELECT max(seq) FROM runs)"},
	{"deliveries", "seq", "ended_at", " AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = deliveries.flow_id AND flows.ended_at IS NULL)"},
	{"workers", "id", "lease_until", " AND NOT EXISTS (SELECT 1 FROM work WHERE owner = workers.id)"},
}

func (p prunable) which() string {
	return "SELECT " + p.key + " FROM " + p.table + " WHERE " + p.ended + " < $1" + p.unless + " ORDER BY " + p.ended
}

// remove removes the oldest, at most $2 of them.
func (p prunable) remove() fixed {
	return fixed("DELETE FROM " + p.table + " WHERE " + p.key + " IN (" + p.which() + limit("$2") + ")")
}

// another finds one that could be removed.
func (p prunable) another() fixed { return fixed(p.which() + " LIMIT 1") }

// Prune removes flows, runs and deliveries that ended before a time, and the
// workers whose leases did, at most limit rows of each, and reports whether there
// are more.
func (t *tx) Prune(before int64, limit int) (more bool, err error) {
	for _, p := range prunables {
		if _, err := t.exec("prune "+p.table, p.remove(), before, limit); err != nil {
			return false, err
		}
		var key any
		left, err := t.row("prune "+p.table, p.another(), []any{before}, &key)
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}
