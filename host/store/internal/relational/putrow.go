package relational

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// upsert returns the statement that inserts a row, or updates the row with the same
// id. An update does not change seq. If seq is not among the columns, the database
// assigns the next one to a new row.
func upsert(table string, columns ...string) Fixed {
	var parameters, updates []string
	for i, column := range columns {
		parameters = append(parameters, fmt.Sprintf("$%d", i+1))
		if column != "seq" {
			updates = append(updates, fmt.Sprintf("%s = excluded.%[1]s", column))
		}
	}
	return Fixed("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(parameters, ", ") +
		") ON CONFLICT (id) DO UPDATE SET " + strings.Join(updates, ", "))
}

var (
	putFlow = upsert("flows", "id", "scope", "call_id", "session_key", "status", "created", "ended_at", "wait_run", "caller_run", "state_of", "data")
	putRun  = upsert("runs", "seq", "id", "scope", "request_id", "session_key", "flow_id", "status", "created", "ended_at", "spawned_by", "data")

	putDelivery = upsert("deliveries", "id", "session_key", "flow_id", "status", "created", "ended_at", "data")
)

const (
	seqOfRun = Fixed("SELECT seq FROM runs WHERE id = $1")
	nextRun  = next("runs")
)

// PutFlow inserts or updates a flow by its id.
func (t *Tx) PutFlow(f *store.Flow) error {
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
	return t.put("flow", f.ID, f.Call, putFlow, f.ID, f.Call.Scope, orNull(f.Call.ID), f.Caller.SessionKey, f.Status, f.AcceptedAt,
		timeOrNull(f.EndedAt), orNull(waitRun), orNull(callerRun), of, data)
}

// PutRun inserts or updates a run by its id. It assigns a number to a new run that has
// none; a stored run keeps its number. r is not changed, because an update may be
// called again.
func (t *Tx) PutRun(r *store.Run) error {
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
func (t *Tx) PutDelivery(d *store.Delivery) error {
	data, err := encode(d)
	if err != nil {
		return badRow("delivery", d.ID, err)
	}
	return t.put("delivery", d.ID, store.CallKey{}, putDelivery, d.ID, d.SessionKey, orNull(d.FlowID), d.Status, d.CreatedAt,
		timeOrNull(d.EndedAt), data)
}

// put executes an upsert. If another row has one of the keys, put fails with
// abi.Conflict, and the transaction remains usable.
func (t *Tx) put(noun, id string, call store.CallKey, s Statement, args ...any) error {
	if id == "" {
		return abi.NewError(abi.InvalidArgs, "a "+noun+" has no id")
	}
	if t.b.failed != nil {
		return t.b.failed
	}
	_, err := t.b.conn.Put(t.b.ctx, s, args...)
	if errors.Is(err, ErrDuplicateKey) {
		return &abi.Error{Code: abi.Conflict, Message: fmt.Sprintf("the %s %s cannot be stored: another one has the same number or call id %q", noun, id, call.ID), Cause: err}
	}
	return t.b.recordFailure("put "+noun+" "+id, err)
}

func badRow(noun, id string, err error) error {
	return &abi.Error{Code: abi.InvalidArgs, Message: fmt.Sprintf("the %s %s cannot be encoded as JSON: %v", noun, id, err), Cause: err}
}

// timeOrNull returns the stored form of a time: an unknown time is NULL.
func timeOrNull(ms int64) any {
	if ms == 0 {
		return nil
	}
	return ms
}
