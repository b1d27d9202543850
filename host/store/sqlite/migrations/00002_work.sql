-- +goose Up

-- The run that a message belongs to, if one stored it.
ALTER TABLE messages ADD COLUMN run_id TEXT;

CREATE INDEX messages_by_run ON messages (run_id, id) WHERE run_id IS NOT NULL;

-- In flows, runs and deliveries, data is the row as JSON. The other columns serve
-- lookups; absent texts and times are NULL. created is the time of acceptance in
-- milliseconds, and seq the order of insertion. Newest first is the descending order
-- of (created, seq). Every index ends in seq, which is the rowid.

-- While a flow waits, wait_run is the run whose end wakes it. Until the flow has
-- answered, caller_run is the run that called it.
CREATE TABLE flows (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    scope       TEXT    NOT NULL,
    call_id     TEXT,
    session_key TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    created     BIGINT  NOT NULL,
    ended_at    BIGINT,
    wait_run    TEXT,
    caller_run  TEXT,
    data        TEXT    NOT NULL
);

CREATE UNIQUE INDEX flows_by_call ON flows (scope, call_id) WHERE call_id IS NOT NULL;
CREATE INDEX flows_by_created     ON flows (created);
CREATE INDEX flows_by_status      ON flows (status, created);
CREATE INDEX flows_by_session     ON flows (session_key, created);
CREATE INDEX flows_ended          ON flows (ended_at)   WHERE ended_at IS NOT NULL;
CREATE INDEX flows_waiting        ON flows (wait_run)   WHERE wait_run IS NOT NULL;
CREATE INDEX flows_by_caller_run  ON flows (caller_run) WHERE caller_run IS NOT NULL;

CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    scope       TEXT    NOT NULL,
    request_id  TEXT,
    session_key TEXT    NOT NULL,
    flow_id     TEXT,
    status      TEXT    NOT NULL,
    created     BIGINT  NOT NULL,
    ended_at    BIGINT,
    data        TEXT    NOT NULL
);

CREATE UNIQUE INDEX runs_by_request ON runs (scope, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX runs_by_created        ON runs (created);
CREATE INDEX runs_by_status         ON runs (status, created);
CREATE INDEX runs_by_session        ON runs (session_key, created);
CREATE INDEX runs_by_flow           ON runs (flow_id, created)   WHERE flow_id IS NOT NULL;
CREATE INDEX runs_ended             ON runs (ended_at)           WHERE ended_at IS NOT NULL;
CREATE INDEX runs_open              ON runs (session_key, seq)   WHERE ended_at IS NULL;

CREATE TABLE deliveries (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    session_key TEXT    NOT NULL,
    flow_id     TEXT,
    status      TEXT    NOT NULL,
    created     BIGINT  NOT NULL,
    ended_at    BIGINT,
    data        TEXT    NOT NULL
);

CREATE INDEX deliveries_by_created ON deliveries (created);
CREATE INDEX deliveries_by_status  ON deliveries (status, created);
CREATE INDEX deliveries_by_session ON deliveries (session_key, created);
CREATE INDEX deliveries_by_flow    ON deliveries (flow_id, created) WHERE flow_id IS NOT NULL;
CREATE INDEX deliveries_ended      ON deliveries (ended_at)         WHERE ended_at IS NOT NULL;

-- Scheduled work. fence is the fencing token, the number of claims of the piece. owner
-- is the worker that made the last claim and has not released it.
CREATE TABLE work (
    kind   TEXT   NOT NULL,
    id     TEXT   NOT NULL,
    due_at BIGINT NOT NULL,
    owner  TEXT,
    fence  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, id)
);

CREATE INDEX work_due      ON work (kind, due_at, id);
CREATE INDEX work_by_owner ON work (owner) WHERE owner IS NOT NULL;

-- A worker that was ended is dead, even if its lease has not expired. Its row is kept
-- until it is pruned, so that it cannot start again under the same id.
CREATE TABLE workers (
    id          TEXT    PRIMARY KEY,
    lease_until BIGINT  NOT NULL,
    dead        BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE INDEX workers_by_lease ON workers (lease_until);

-- Constants of this store: its secret, in hexadecimal.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
