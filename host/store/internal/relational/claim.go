package relational

const (
	claim = Fixed(`UPDATE work SET owner = $1, fence = fence + 1 WHERE kind = $2 AND id = $3
AND EXISTS (SELECT 1 FROM workers WHERE workers.id = $1 AND lease_until >= $4 AND NOT dead)
AND (owner IS NULL OR owner = $1 OR NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = work.owner AND NOT dead))
RETURNING fence`)

	// Ends the worker that holds the work, if its lease has expired.
	endExpired = Fixed(`UPDATE workers SET dead = TRUE WHERE id <> $1 AND id = (SELECT owner FROM work WHERE kind = $2 AND work.id = $3)
AND lease_until < $4 AND NOT dead
AND EXISTS (SELECT 1 FROM workers AS claimer WHERE claimer.id = $1 AND claimer.lease_until >= $4 AND NOT claimer.dead)
RETURNING id`)

	holds = Fixed(`SELECT fence FROM work JOIN workers ON workers.id = work.owner
WHERE kind = $1 AND work.id = $2 AND owner = $3 AND fence = $4 AND NOT dead`)

	unclaim = Fixed("UPDATE work SET owner = NULL WHERE kind = $1 AND id = $2 AND owner = $3 AND fence = $4")

	lease = Fixed(`INSERT INTO workers (id, lease_until) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
WHERE NOT workers.dead RETURNING lease_until`)

	takeOver = Fixed("UPDATE workers SET dead = TRUE WHERE id <> $1")

	due      = Fixed("SELECT id, due_at FROM work WHERE kind = $1 ORDER BY due_at, id")
	countDue = Fixed("SELECT count(*) FROM work WHERE kind = $1 AND due_at < $2")
)

// Claim assigns a scheduled piece of work to a worker with a live lease. A worker may
// claim work again that it already holds. If another worker holds the work and its
// lease has expired, Claim ends that worker first, which invalidates all its claims.
func (t *Tx) Claim(kind, id, worker string, now int64) (token int64, err error) {
	args := []any{worker, kind, id, now}
	claimed, err := t.row("claim "+kind+" "+id, claim, args, &token)
	if claimed || err != nil {
		return token, err
	}
	var expired string
	ended, err := t.row("end the expired holder of "+kind+" "+id, endExpired, args, &expired)
	if ended && err == nil {
		_, err = t.row("claim "+kind+" "+id, claim, args, &token)
	}
	return token, err
}

// Holds reports whether the claim with this fencing token is the newest one and its
// worker has not been ended.
func (t *Tx) Holds(kind, id, worker string, token int64) (bool, error) {
	var held int64
	return t.row("check the claim of "+kind+" "+id, holds, []any{kind, id, worker, token}, &held)
}

// Unclaim releases a claim, unless a newer one has replaced it.
func (t *Tx) Unclaim(kind, id, worker string, token int64) error {
	return t.exec("unclaim "+kind+" "+id, unclaim, kind, id, worker, token)
}

// Lease extends a worker's lease until a time. It reports false when the worker has
// been ended.
func (t *Tx) Lease(worker string, until int64) (bool, error) {
	var extended int64
	return t.row("extend the lease of "+worker, lease, []any{worker, until}, &extended)
}

// TakeOver ends all other workers.
func (t *Tx) TakeOver(worker string) error {
	return t.exec("take over", takeOver, worker)
}
