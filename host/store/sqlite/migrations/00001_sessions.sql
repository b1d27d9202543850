-- +goose Up

-- The file says whose it is: "Prly". Another program's database is refused.
PRAGMA application_id = 1349676153;

-- Sessions of one agent, kind and archived or not. A list walks, of each
-- partition that its filters allow, one index range from the newest session on;
-- that is what keeps its cost in proportion to the rows it returns. kind is
-- "reserved" for keys that are never listed (S1.3). Rows are never changed or
-- removed, so that readers may remember them.
CREATE TABLE partitions (
    id       INTEGER PRIMARY KEY,
    agent_id TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    archived BOOLEAN NOT NULL,
    UNIQUE (agent_id, kind, archived)
);

-- A session that gets another sessionId starts another transcript; the old one
-- stays.
CREATE TABLE transcripts (
    id          INTEGER PRIMARY KEY,
    session_key TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    UNIQUE (session_key, session_id)
);

-- data is the session's JSON as the ABI writes it; the other columns are what is
-- searched by, absent texts being NULL. recency is -updatedAt, so that the order
-- of a list, newest first and then by key, is the ascending order of an index
-- and "behind this row" is one comparison of (recency, key). search holds key,
-- label, displayName and subject with letters folded to one case.
CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY,
    key           TEXT    NOT NULL UNIQUE,
    partition_id  BIGINT  NOT NULL REFERENCES partitions,
    kind          TEXT    NOT NULL,
    archived      BOOLEAN NOT NULL,
    rest          TEXT    NOT NULL,
    recency       BIGINT  NOT NULL,
    session_id    TEXT,
    label         TEXT,
    spawned_by    TEXT,
    transcript_id BIGINT  NOT NULL REFERENCES transcripts,
    data          TEXT    NOT NULL,
    search        TEXT    NOT NULL
);

CREATE INDEX sessions_by_kind         ON sessions (kind, archived, recency, key);
CREATE INDEX sessions_by_partition    ON sessions (partition_id, recency, key, search);
CREATE INDEX sessions_by_label        ON sessions (label, partition_id, recency, key) WHERE label IS NOT NULL;
CREATE INDEX sessions_by_parent       ON sessions (spawned_by, partition_id, recency, key) WHERE spawned_by IS NOT NULL;
CREATE INDEX sessions_by_parent_label ON sessions (spawned_by, label, partition_id, recency, key)
    WHERE spawned_by IS NOT NULL AND label IS NOT NULL;
CREATE INDEX sessions_by_session_id   ON sessions (session_id, recency, key) WHERE session_id IS NOT NULL;

-- What a source's entry held beyond the session's own members. Apart, because
-- no list reads it.
CREATE TABLE session_extras (
    session INTEGER PRIMARY KEY REFERENCES sessions,
    extra   TEXT   NOT NULL
);

-- id is transcript_id * 2^32 + seq, seq counting from 1 without gaps: a
-- transcript's messages lie together and in order. ordinal is transcript_id *
-- 2^32 + the number of messages up to this one that are not tool results, so
-- that skipping any number of either is arithmetic. body is what a history
-- shows: the raw message, or its shortened form with the list of cuts.
CREATE TABLE messages (
    id            INTEGER PRIMARY KEY,
    transcript_id BIGINT  NOT NULL REFERENCES transcripts,
    source_id     TEXT,
    role          TEXT    NOT NULL,
    tool_result   BOOLEAN NOT NULL,
    ordinal       BIGINT  NOT NULL,
    at            BIGINT  NOT NULL,
    cut           TEXT,
    body          TEXT    NOT NULL
);

CREATE INDEX messages_spoken           ON messages (ordinal) WHERE NOT tool_result;
CREATE UNIQUE INDEX messages_by_source ON messages (transcript_id, source_id) WHERE source_id IS NOT NULL;

-- The raw form of messages whose body was shortened.
CREATE TABLE message_raws (
    message INTEGER PRIMARY KEY REFERENCES messages,
    raw     TEXT   NOT NULL
);

-- Bookmarks of importers.
CREATE TABLE marks (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
