package sqlite

import (
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// upsert is the statement that inserts a row, or updates the one with its id, all
// columns but seq, which is the first parameter and stays what it was. NULL is
// the next seq that is free.
func upsert(table string, columns ...string) fixed {
	var parameters, updates strings.Builder
	for i, column := range columns {
		fmt.Fprintf(&parameters, ", $%d", i+2)
		if i > 0 {
			fmt.Fprintf(&updates, ", ")
		}
		fmt.Fprintf(&updates, "%s = excluded.%[1]s", column)
	}
	return fixed("INSERT INTO " + table + " (seq, " + strings.Join(columns, ", ") + ") VALUES ($1" + parameters.String() +
		") ON CONFLICT (id) DO UPDATE SET " + updates.String())
}

var (
	putFlow = upsert("flows", "id", "scope", "call_id", "session_key", "status", "created", "ended_at", "wait_run", "caller_run", "state_of", "data")
	putRun  = upsert("runs", "id", "scope", "request_id", "session_key", "flow_id", "status", "created", "ended_at", "spawned_by", "data")

	putDelivery = upsert("deliveries", "id", "session_key", "flow_id", "status", "created", "ended_at", "data")
)

const (
	seqOfRun = fixed("SELECT seq FROM runs WHERE id = $1")
	nextRun  = fixed("SELECT coalesce(max(seq), 0) + 1 FROM runs")
)

// PutFlow inserts or updates a flow by its id.
func (t *tx) PutFlow(f *store.Flow) error {
	waitRun, callerRun := "", ""
	if f.Status == store.FlowWaiting {
		waitRun = f.WaitRun
		if !f.Answered() {
			callerRun = f.Caller.RunID
		}
	}
	of, err := stateOf(f)
	if err != nil {
		return badRow("flow", f.ID, err)
	}
	data, err := encode(f)
	if err != nil {
		return badRow("flow", f.ID, err)
	}
	return t.put("flow", f.ID, f.Call, putFlow, nil, f.ID, f.Call.Scope, orNull(f.Call.ID), f.Caller.SessionKey, f.Status, f.AcceptedAt,
		timeOrNull(f.EndedAt), orNull(waitRun), orNull(callerRun), of, data)
}

// PutRun inserts or updates a run by its id. The store numbers it, if r does not;
// a number once given stays. r itself is not changed: an update may run again.
func (t *tx) PutRun(r *store.Run) error {
	row := *r
	_, err := t.row("find the number of run "+r.ID, seqOfRun, []any{r.ID}, &row.Seq)
	if err == nil && row.Seq == 0 {
		_, err = t.row("number run "+r.ID, nextRun, nil, &row.Seq)
	}
	if err != nil {
		return err
	}
	data, err := encode(&row)
	if err != nil {
		return badRow("run", r.ID, err)
	}
	return t.put("run", r.ID, r.Request, putRun, row.Seq, r.ID, r.Request.Scope, orNull(r.Request.ID), r.SessionKey, orNull(r.FlowID), r.Status, r.QueuedAt,
		timeOrNull(r.EndedAt), orNull(r.SpawnedBy), data)
}

// PutDelivery inserts or updates a delivery by its id.
func (t *tx) PutDelivery(d *store.Delivery) error {
	data, err := encode(d)
	if err != nil {
		return badRow("delivery", d.ID, err)
	}
	return t.put("delivery", d.ID, store.CallKey{}, putDelivery, nil, d.ID, d.SessionKey, orNull(d.FlowID), d.Status, d.CreatedAt,
		timeOrNull(d.EndedAt), data)
}

// put executes an upsert. A key that another row has is a conflict, which leaves
// the transaction as it was.
func (t *tx) put(noun, id string, call store.CallKey, s statement, args ...any) error {
	if id == "" {
		return abi.NewError(abi.InvalidArgs, "a "+noun+" has no id")
	}
	if t.b.failed != nil {
		return t.b.failed
	}
	_, err := t.b.exec(t.b.ctx, s, args...)
	if taken(err) {
		return &abi.Error{Code: abi.Conflict, Message: fmt.Sprintf("the %s %s cannot be stored: another has its number or its call id %q", noun, id, call.ID), Cause: err}
	}
	return t.b.keep("put "+noun+" "+id, err)
}

func badRow(noun, id string, err error) error {
	return &abi.Error{Code: abi.InvalidArgs, Message: fmt.Sprintf("the %s %s cannot be written as JSON: %v", noun, id, err), Cause: err}
}

// timeOrNull is how a time that is not known is stored.
func timeOrNull(ms int64) any {
	if ms == 0 {
		return nil
	}
	return ms
}
