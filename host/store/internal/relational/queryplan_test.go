package relational

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// SQLite returns a connection to a new database. sqlite_test.go sets it, because
// package sqlite imports this one.
var SQLite func(t *testing.T) Conn

// Conn returns the snapshot's connection.
func (s *Snapshot) Conn() Conn { return s.conn }

// TestQueryPlans checks SQLite's query plan of each statement of a snapshot: the plan
// scans no table, sorts nothing, and uses the intended index.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	c := SQLite(t)
	byIndex := map[Statement]string{
		sessionByKey:             "sqlite_autoindex_sessions_1 (key=?)",
		sessionsByID:             "sessions_by_session_id (session_id=?)",
		transcriptOf:             "sqlite_autoindex_sessions_1 (key=?)",
		newestOf:                 "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		tail{}:                   "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		tail{excluded: 2}:        "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		tail{withoutTools: true}: "messages_spoken (ordinal>? AND ordinal<?)",
		tail{true, 3}:            "messages_spoken (ordinal>? AND ordinal<?)",
		lastPartition:            "partitions",
		partitionsOfLabel:        "sessions_by_label (label=?",
		partitionsOfParent:       "sessions_by_parent (spawned_by=?",
		partitionsOfParentLabel:  "sessions_by_parent_label (spawned_by=? AND label=?",
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
	for s, index := range workIndexes() {
		byIndex[s] = index
	}
	for s, index := range byIndex {
		plan, text := explain(t, c, s)
		used := 0
		for _, step := range plan {
			if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN ") && !slices.Contains(scannable, step) {
				t.Errorf("%#v: %s\nin the plan of\n%s", s, step, text)
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

// scannable lists the scans of recursive tables, which statements define themselves.
var scannable = []string{"SCAN found", "SCAN ahead"}

// workIndexes returns the intended index of each statement that searches flows, runs,
// deliveries or work.
func workIndexes() map[Statement]string {
	byIndex := map[Statement]string{
		flowByID:      "sqlite_autoindex_flows_1 (id=?)",
		runByID:       "sqlite_autoindex_runs_1 (id=?)",
		deliveryByID:  "sqlite_autoindex_deliveries_1 (id=?)",
		flowByCall:    "flows_by_call (scope=? AND call_id=?)",
		runByRequest:  "runs_by_request (scope=? AND request_id=?)",
		seqOfRun:      "sqlite_autoindex_runs_1 (id=?)",
		nextRun:       "SEARCH runs",
		waiting:       "flows_waiting (wait_run=?)",
		messagesOfRun: "messages_by_run (run_id=?)",
		spawned:       "COVERING INDEX sessions_spawned (recency>?)",
		blockingRuns:  "flows_by_caller_run (caller_run=?)",

		activeChildren:    "runs_of_children (spawned_by=?)",
		openRun:           "runs_open (session_key=?)",
		sessionRemoval[0]: "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		sessionRemoval[1]: "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		sessionRemoval[2]: "sqlite_autoindex_sessions_1 (key=?)",
		sessionRemoval[3]: "sqlite_autoindex_sessions_1 (key=?)",
		sessionRemoval[4]: "sqlite_autoindex_transcripts_1 (session_key=?)",

		due:        "work_due (kind=?)",
		countDue:   "COVERING INDEX work_due (kind=? AND due_at<?)",
		claim:      "sqlite_autoindex_work_1 (kind=? AND id=?)",
		endExpired: "sqlite_autoindex_workers_1 (id=?)",
		holds:      "sqlite_autoindex_work_1 (kind=? AND id=?)",
		unclaim:    "sqlite_autoindex_work_1 (kind=? AND id=?)",
		unschedule: "sqlite_autoindex_work_1 (kind=? AND id=?)",

		worklist{table: "flows", by: byID}:                              "sqlite_autoindex_flows_1 (id=?",
		worklist{table: "runs", by: byFlow, session: true, statuses: 2}: "runs_by_flow (flow_id=? AND created>?)",
		worklist{table: "deliveries", by: byFlow}:                       "deliveries_by_flow (flow_id=? AND created>?)",
		removal{prunables[0]}:                                           "flows_ended (ended_at<?)", prunables[0].nextPrunable(): "flows_ended (ended_at<?)",
		removal{prunables[1]}: "runs_ended (ended_at<?)", prunables[1].nextPrunable(): "runs_ended (ended_at<?)",
		removal{prunables[2]}: "deliveries_ended (ended_at<?)", prunables[2].nextPrunable(): "deliveries_ended (ended_at<?)",
		removal{prunables[3]}: "workers_by_lease (lease_until<?)", prunables[3].nextPrunable(): "workers_by_lease (lease_until<?)",
	}
	for _, table := range []string{"flows", "runs", "deliveries"} {
		byIndex[worklist{table: table}] = table + "_by_created (created>?)"
		byIndex[worklist{table: table, by: byStatus}] = table + "_by_status (status=? AND created>?)"
		for statuses := range 3 {
			byIndex[worklist{table: table, by: bySession, statuses: statuses}] = table + "_by_session (session_key=? AND created>?)"
		}
	}
	return byIndex
}

// explained is the statement EXPLAIN QUERY PLAN for another statement.
type explained struct {
	Statement
	text string // SQL of the explained statement; set when it is compiled
}

func (e *explained) SQL(d Dialect) string {
	e.text = e.Statement.SQL(d)
	return "EXPLAIN QUERY PLAN " + e.text
}

func explain(t *testing.T, c Conn, s Statement) (plan []string, text string) {
	t.Helper()
	args := make([]any, 200)
	for i := range args {
		args[i] = 1
	}
	e := &explained{Statement: s}
	rows, err := c.Query(context.Background(), e, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, e.text)
	}
	defer rows.Close()
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
	return plan, e.text
}
