-- +goose Up

-- For a child's first run: the session that spawned the child.
ALTER TABLE runs ADD COLUMN spawned_by TEXT;

CREATE INDEX runs_of_children ON runs (spawned_by) WHERE spawned_by IS NOT NULL AND ended_at IS NULL;

-- Spawned sessions, newest first, with their parents.
CREATE INDEX sessions_spawned ON sessions (recency, key, spawned_by) WHERE spawned_by IS NOT NULL;
