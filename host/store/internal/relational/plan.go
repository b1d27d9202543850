package relational

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// plan describes how the rows of a list are found: in index ranges that contain hardly
// any other rows, and under single keys whose rows are checked one by one.
type plan struct {
	ranges map[source][]span
	keys   []string
}

// span is one range of an index: the rows whose leading column or columns, which
// depend on the source, have these values. Two keys (or rests of keys) are excluded.
type span struct {
	values   []any
	excluded [2]string
}

// filter is a list request with its derived conditions.
type filter struct {
	visibility
	*abi.ListRequest
	kinds  []string // requested structural kinds
	mains  bool     // main sessions are requested
	byKind bool     // the request names kinds
	needle string   // folded text to search for, or empty
}

func newFilter(r *abi.ListRequest) *filter {
	f := &filter{visibility: newVisibility(r.Scope, r.MainKey, r.Global), ListRequest: r, needle: foldCase(r.Search)}
	f.byKind = len(r.Kinds) > 0
	f.mains = !f.byKind || slices.Contains(r.Kinds, sessionkey.KindMain)
	for _, k := range sessionkey.Kinds {
		if k != sessionkey.KindMain && (!f.byKind || slices.Contains(r.Kinds, k)) {
			f.kinds = append(f.kinds, k)
		}
	}
	return f
}

// matchesPartition reports whether the partition's sessions match the archived, agent
// and kind filters. Main sessions, and the conditions of index ranges, are handled
// elsewhere.
func (f *filter) matchesPartition(p *partition) bool {
	return (f.IncludeArchived || !p.archived) && (f.AgentID == "" || f.AgentID == p.agentID) && slices.Contains(f.kinds, p.kind)
}

// excludedRests returns the <rest> of sessions that the ranges exclude, or "". Main
// sessions are excluded when the request names kinds, because the plan then finds them
// by key. Aliases of another session are excluded too (S1.2, S1.3).
func (f *filter) excludedRests() (main, alias string) {
	if f.byKind || f.global != "" {
		main = f.visibility.keys.MainKey
	}
	if f.global != "" || f.visibility.keys.MainKey != sessionkey.Main {
		alias = sessionkey.Main
	}
	return main, alias
}

// plan determines the ranges and keys of a list. The number of ranges depends on the
// number of agents and kinds, not on the number of sessions.
func (s *Snapshot) plan(ctx context.Context, f *filter) (*plan, error) {
	p := &plan{ranges: make(map[source][]span)}
	partitions, err := s.partitions(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case f.showsAll() && f.AgentID == "" && f.Label == "" && f.needle == "":
		p.addKinds(f)
	case f.Label == "":
		p.addPartitions(f, byPartition, partitions, func(q *partition) bool { return f.showsAgent(q.agentID) })
	default:
		some, err := s.selectPartitions(ctx, partitions, partitionsOfLabel, f.Label)
		if err != nil {
			return nil, err
		}
		p.addPartitions(f, byLabel, some, func(q *partition) bool { return f.showsAgent(q.agentID) })
	}
	if f.scope != nil && f.scope.SpawnedBy != "" && !f.showsAll() {
		if err := s.addChildren(ctx, p, f, partitions); err != nil {
			return nil, err
		}
	}
	p.addKeys(f, partitions)
	return p, nil
}

func (p *plan) addKinds(f *filter) {
	main, alias := f.excludedRests()
	for _, kind := range f.kinds {
		for _, archived := range []bool{false, true} {
			if !archived || f.IncludeArchived {
				p.ranges[byKind] = append(p.ranges[byKind], span{[]any{kind, archived}, [2]string{main, alias}})
			}
		}
	}
}

func (p *plan) addPartitions(f *filter, from source, partitions []partition, in func(*partition) bool) {
	main, alias := f.excludedRests()
	for i := range partitions {
		if q := &partitions[i]; f.matchesPartition(q) && in(q) {
			excluded := [2]string{sessionkey.Join(q.agentID, main), sessionkey.Join(q.agentID, alias)}
			p.ranges[from] = append(p.ranges[from], span{[]any{q.id}, excluded})
		}
	}
}

// addChildren adds the children of the session scope.SpawnedBy, except those that are
// visible because of their agent.
func (s *Snapshot) addChildren(ctx context.Context, p *plan, f *filter, partitions []partition) (err error) {
	from, args, list := byParent, []any{f.scope.SpawnedBy}, partitionsOfParent
	if f.Label != "" {
		from, args, list = byParentLabel, append(args, f.Label), partitionsOfParentLabel
	}
	some, err := s.selectPartitions(ctx, partitions, list, args...)
	if err != nil {
		return err
	}
	p.addPartitions(f, from, some, func(q *partition) bool { return !f.showsAgent(q.agentID) })
	return nil
}

// addKeys adds the sessions that no range contains: those that are visible by their
// key, "global", and main sessions when the request names their kind.
func (p *plan) addKeys(f *filter, partitions []partition) {
	if f.scope != nil {
		p.keys = append(p.keys, f.scope.Keys...)
	}
	if f.global != "" {
		p.keys = append(p.keys, sessionkey.Global)
		return
	}
	if !f.byKind || !f.mains {
		return
	}
	seen := make(map[string]bool)
	for i := range partitions {
		id := partitions[i].agentID
		if id == "" || seen[id] || f.AgentID != "" && f.AgentID != id {
			continue
		}
		seen[id] = true
		if f.showsAgent(id) || f.scope.SpawnedBy != "" {
			p.keys = append(p.keys, f.visibility.keys.MainOf(id))
		}
	}
}

// matches reports whether a session that was found by its key matches the request.
func (f *filter) matches(s *abi.Session) bool {
	kind := s.Kind
	if f.visibility.keys.IsMain(s.Key) {
		kind = sessionkey.KindMain
	}
	return f.shows(s) &&
		(!f.byKind || slices.Contains(f.Kinds, kind)) &&
		(f.AgentID == "" || f.AgentID == f.agentOf(s)) &&
		(f.Label == "" || f.Label == s.Label) &&
		(f.ActiveSince == 0 || s.UpdatedAt >= f.ActiveSince) &&
		(f.IncludeArchived || s.ArchivedAt == 0) &&
		(f.needle == "" || containsFolded(s, f.needle))
}

// selectPartitions returns the partitions whose ids the statement lists.
func (s *Snapshot) selectPartitions(ctx context.Context, partitions []partition, list Fixed, args ...any) ([]partition, error) {
	rows, err := s.conn.QueryBounded(ctx, list, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var some []partition
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		if i, ok := slices.BinarySearchFunc(partitions, id, func(p partition, id int64) int { return int(p.id - id) }); ok {
			some = append(some, partitions[i])
		}
	}
	return some, rows.Err()
}
