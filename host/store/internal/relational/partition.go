package relational

import (
	"context"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

// kindReserved is the kind, in the index, of sessions that no list range contains.
const kindReserved = "reserved"

// partition identifies the sessions of one agent and structural kind that are, or are
// not, archived.
type partition struct {
	id       int64
	agentID  string
	kind     string
	archived bool
}

const (
	lastPartition = Fixed("SELECT coalesce(max(id), 0) FROM partitions")
	allPartitions = Fixed("SELECT id, agent_id, kind, archived FROM partitions ORDER BY id")
)

// reserved reports whether the key is one of the reserved words, with or without an
// agent. These are never listed (S1.3).
func reserved(key string) bool {
	_, rest, ok := sessionkey.Split(key)
	if !ok {
		rest = key
	}
	return rest == sessionkey.Global || rest == sessionkey.Unknown
}

// partitions returns all partitions that existed when the snapshot was opened. The
// result may contain newer ones, which are empty in this snapshot. The list is cached
// for all snapshots, and read again only when the snapshot has a newer partition.
func (s *Snapshot) partitions(ctx context.Context) ([]partition, error) {
	if known := s.db.partitions.Load(); known != nil && int64(len(*known)) > 0 && (*known)[len(*known)-1].id >= s.lastPartition {
		return *known, nil
	}
	rows, err := s.conn.Query(ctx, allPartitions)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []partition
	for rows.Next() {
		var p partition
		if err := rows.Scan(&p.id, &p.agentID, &p.kind, &p.archived); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	s.db.partitions.Store(&all)
	return all, nil
}
