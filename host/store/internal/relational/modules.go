package relational

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

const (
	moduleByDigest = Fixed("SELECT data, wasm FROM modules WHERE digest = $1")
	allModules     = Fixed("SELECT data FROM modules ORDER BY seq DESC")
	activations    = Fixed("SELECT data FROM activations ORDER BY seq DESC LIMIT $1")
	states         = Fixed("SELECT state_of, count(*) FROM flows WHERE ended_at IS NULL GROUP BY state_of ORDER BY state_of")

	putModule      = Fixed("INSERT INTO modules (digest, data, wasm) VALUES ($1, $2, $3) ON CONFLICT (digest) DO UPDATE SET data = excluded.data WHERE $4")
	deleteModule   = Fixed("DELETE FROM modules WHERE digest = $1")
	nextActivation = next("activations")
	putActivation  = Fixed("INSERT INTO activations (seq, data) VALUES ($1, $2)")
)

// flowsOf finds the flows that have not ended and whose state a module wrote.
type flowsOf struct{}

func (flowsOf) SQL(d Dialect) string {
	return "SELECT id FROM flows WHERE ended_at IS NULL AND " + d.JSON("state_of") + " ->> 0 = $1 ORDER BY seq"
}

// Module returns the module with this digest, or nil.
func (s *Snapshot) Module(ctx context.Context, digest string) (*store.Module, error) {
	var data string
	var wasm []byte
	found, err := s.conn.Row(ctx, moduleByDigest, []any{digest}, &data, &wasm)
	if err != nil || !found {
		return nil, s.db.Wrap("get module "+digest, err)
	}
	m, err := decode[store.Module](data)
	if err != nil {
		return nil, s.db.Wrap("get module "+digest, err)
	}
	m.Wasm = wasm
	return m, nil
}

// Modules lists all modules, newest first, without their bytes.
func (s *Snapshot) Modules(ctx context.Context) ([]*store.Module, error) {
	all, err := decoded[store.Module](texts(ctx, s.conn, allModules))
	return all, s.db.Wrap("list modules", err)
}

// Activations lists the newest activations, newest first.
func (s *Snapshot) Activations(ctx context.Context, limit int) ([]*store.Activation, error) {
	all, err := decoded[store.Activation](texts(ctx, s.conn, activations, limit))
	return all, s.db.Wrap("list activations", err)
}

func decoded[T any](all []string, err error) ([]*T, error) {
	rows := make([]*T, 0, len(all))
	for _, data := range all {
		row, wrong := decode[T](data)
		err = errors.Join(err, wrong)
		rows = append(rows, row)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// StateCounts counts the flows that have not ended, by the module that wrote their state.
func (s *Snapshot) StateCounts(ctx context.Context) ([]store.StateCount, error) {
	all, err := s.states(ctx)
	return all, s.db.Wrap("count the states of flows", err)
}

func (s *Snapshot) states(ctx context.Context) ([]store.StateCount, error) {
	rows, err := s.conn.Query(ctx, states)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []store.StateCount
	for rows.Next() {
		var of string
		var n int
		if err := rows.Scan(&of, &n); err != nil {
			return nil, err
		}
		row := store.StateCount{Flows: n}
		if err := json.Unmarshal([]byte(of), &[]any{&row.Module, &row.Plugin, &row.StateVersion}); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// stateOf returns the value by which StateCounts groups flows.
func stateOf(f *store.Flow) (string, error) {
	return encode([]any{f.Module, f.Plugin, f.StateVersion})
}

// PutModule stores a module. A module that is stored already is replaced only if m is
// signed.
func (t *Tx) PutModule(m *store.Module) error {
	data, err := encode(m)
	if err != nil {
		return badRow("module", m.Digest, err)
	}
	return t.exec("put module "+m.Digest, putModule, m.Digest, data, m.Wasm, m.Signer != "")
}

// DeleteModule removes a module. An unknown module is not an error.
func (t *Tx) DeleteModule(digest string) error {
	return t.exec("delete module "+digest, deleteModule, digest)
}

// FlowsOf returns the ids of the flows that have not ended and whose state this module
// wrote.
func (t *Tx) FlowsOf(digest string) ([]string, error) {
	if t.b.failed != nil {
		return nil, t.b.failed
	}
	all, err := texts(t.b.ctx, t.b.conn, flowsOf{}, digest)
	return all, t.b.recordFailure("find the flows of module "+digest, err)
}

// PutActivation appends an activation to the history and assigns its number.
func (t *Tx) PutActivation(a *store.Activation) error {
	row := *a
	if _, err := t.row("number an activation", nextActivation, nil, &row.Seq); err != nil {
		return err
	}
	data, err := encode(&row)
	if err != nil {
		return badRow("activation", row.Digest, err)
	}
	return t.exec("put an activation", putActivation, row.Seq, data)
}
