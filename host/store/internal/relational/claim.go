package relational

const (
	claim = Fixed(`UPDATE work SET owner = $1, fence = fence + 1 WHERE kind = $2 AND id = $3
AND EXISTS (SELECT 1 FROM workers WHERE workers.id = $1 AND lease_until >= $4 AND NOT dead)
AND (owner IS NULL OR owner = $1 OR NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = work.owner AND NOT dead))
RETURNING fence`)

	// What stands in the way of a claim: another's lease, which has run out.
	overdue = Fixed(`UPDATE workers SET dead = TRUE WHERE id <> $1 AND id = (SELECT owner FROM work WHERE kind = $2 AND work.id = $3)
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

// Claim gives a scheduled piece of work to a worker whose lease is alive. A piece
// that it has already it claims anew. Another worker that has it, and whose lease
// has run out, is ended first: whatever else it has, it must not go on.
func (t *Tx) Claim(kind, id, worker string, now int64) (fence int64, err error) {
	args := []any{worker, kind, id, now}
	claimed, err := t.row("claim "+kind+" "+id, claim, args, &fence)
	if claimed || err != nil {
		return fence, err
	}
	var late string
	ended, err := t.row("look who has "+kind+" "+id, overdue, args, &late)
	if ended && err == nil {
		_, err = t.row("claim "+kind+" "+id, claim, args, &fence)
	}
	return fence, err
}

// Holds reports whether the claim with this fence is still the newest, and the
// worker has not been taken over.
func (t *Tx) Holds(kind, id, worker string, fence int64) (bool, error) {
	var held int64
	return t.row("look at the claim of "+kind+" "+id, holds, []any{kind, id, worker, fence}, &held)
}

// Unclaim gives a piece of work back, unless somebody else has claimed it.
func (t *Tx) Unclaim(kind, id, worker string, fence int64) error {
	return t.exec("unclaim "+kind+" "+id, unclaim, kind, id, worker, fence)
}

// Lease makes a worker's lease last until a time, and reports false when the
// worker was ended.
func (t *Tx) Lease(worker string, until int64) (bool, error) {
	var lasts int64
	return t.row("lease for "+worker, lease, []any{worker, until}, &lasts)
}

// TakeOver ends the leases of all workers but this one.
func (t *Tx) TakeOver(worker string) error {
	return t.exec("take over", takeOver, worker)
}
