package relational

// prunable describes the rows of a table that may be removed: those that ended before
// $1. A run or delivery is kept until its flow has ended, because the flow may read
// it. A worker that holds a claim is kept, and so is the newest run, from which the
// next run's number is derived.
type prunable struct{ table, key, ended, unless string }

var prunables = []prunable{
	{"flows", "seq", "ended_at", ""},
	{"runs", "seq", "ended_at", " AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = runs.flow_id AND flows.ended_at IS NULL) AND seq < (SELECT max(seq) FROM runs)"},
	{"deliveries", "seq", "ended_at", " AND NOT EXISTS (SELECT 1 FROM flows WHERE flows.id = deliveries.flow_id AND flows.ended_at IS NULL)"},
	{"workers", "id", "lease_until", " AND NOT EXISTS (SELECT 1 FROM work WHERE owner = workers.id)"},
}

func (p prunable) selection() string {
	return "SELECT " + p.key + " FROM " + p.table + " WHERE " + p.ended + " < $1" + p.unless + " ORDER BY " + p.ended
}

// removal removes the oldest prunable rows, at most $2.
type removal struct{ prunable }

func (r removal) SQL(d Dialect) string {
	return "DELETE FROM " + r.table + " WHERE " + r.key + " IN (" + r.selection() + limit(d, "$2") + ")"
}

// nextPrunable finds a row that could be removed.
func (p prunable) nextPrunable() Fixed { return Fixed(p.selection() + " LIMIT 1") }

// Prune removes flows, runs and deliveries that ended before a time, and workers whose
// leases expired before it, at most limit rows of each kind. It reports whether more
// rows can be removed.
func (t *Tx) Prune(before int64, limit int) (more bool, err error) {
	for _, p := range prunables {
		if err := t.exec("prune "+p.table, removal{p}, before, limit); err != nil {
			return false, err
		}
		var key any
		left, err := t.row("prune "+p.table, p.nextPrunable(), []any{before}, &key)
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}
