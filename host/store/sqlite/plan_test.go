package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlans asks SQLite how it would run each statement of a snapshot: no table
// is scanned, nothing is sorted, and each list walks the index meant for it.
func TestPlans(t *testing.T) {
	db, err := Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	byIndex := map[statement]string{
		sessionByKey:            "sqlite_autoindex_sessions_1 (key=?)",
		sessionsByID:            "sessions_by_session_id (session_id=?)",
		transcriptOf:            "sqlite_autoindex_sessions_1 (key=?)",
		newestOf:                "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		tail{}:                  "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		tail{except: 2}:         "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		tail{spoken: true}:      "messages_spoken (ordinal>? AND ordinal<?)",
		tail{true, 3}:           "messages_spoken (ordinal>? AND ordinal<?)",
		lastPartition:           "partitions",
		partitionsOfLabel:       "sessions_by_label (label=?",
		partitionsOfParent:      "sessions_by_parent (spawned_by=?",
		partitionsOfParentLabel: "sessions_by_parent_label (spawned_by=? AND label=?",
	}
	ranges := map[source]string{
		byKind:        "sessions_by_kind (kind=? AND archived=? AND (recency,key)>(?,?) AND recency<?)",
		byPartition:   "sessions_by_partition (partition_id=? AND (recency,key)>(?,?) AND recency<?)",
		byLabel:       "sessions_by_label (label=? AND partition_id=? AND (recency,key)>(?,?) AND recency<?)",
		byParent:      "sessions_by_parent (spawned_by=? AND partition_id=? AND (recency,key)>(?,?) AND recency<?)",
		byParentLabel: "sessions_by_parent_label (spawned_by=? AND label=? AND partition_id=? AND (recency,key)>(?,?) AND recency<?)",
	}
	for source, index := range ranges {
		for _, arms := range []int{1, 2, 8, maxArms} {
			byIndex[merge{source, arms, false}] = index
			byIndex[merge{source, arms, true}] = index
		}
	}
	for s, index := range byIndex {
		plan := explainPlan(t, db, s)
		used := 0
		for _, step := range plan {
			if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN ") && step != "SCAN found" {
				t.Errorf("%#v: %s\nin the plan of\n%s", s, step, s.SQL())
			}
			if strings.Contains(step, index) {
				used++
			}
		}
		want := 1
		if m, ok := s.(merge); ok {
			want = m.arms
		}
		if used < want {
			t.Errorf("%#v: %s is used %d times; want %d\nplan:\n%s", s, index, used, want, strings.Join(plan, "\n"))
		}
	}
}

func explainPlan(t *testing.T, db *DB, s statement) []string {
	t.Helper()
	args := make([]any, 200)
	for i := range args {
		args[i] = 1
	}
	rows, err := db.reading.Query("EXPLAIN QUERY PLAN "+s.SQL(), args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.SQL())
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if rows.Err() != nil || len(plan) == 0 {
		t.Fatal(fmt.Errorf("no plan: %w", rows.Err()))
	}
	return plan
}
