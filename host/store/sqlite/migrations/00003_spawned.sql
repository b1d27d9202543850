-- +goose Up

-- Spawned sessions, newest first, with their parents.
CREATE INDEX sessions_spawned ON sessions (recency, key, spawned_by) WHERE spawned_by IS NOT NULL;
