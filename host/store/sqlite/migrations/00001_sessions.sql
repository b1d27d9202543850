-- +goose Up

-- The id "Prly" marks the file as Parley's. Parley refuses databases of other programs.
PRAGMA application_id = 1349676153;

-- A partition is the set of sessions with the same agent, kind and archived state. A
-- list scans one index range of each partition that its filters allow, starting with
-- the newest session, so that its cost is proportional to the rows it returns. kind
-- is "reserved" for keys that are never listed (S1.3). Rows are never changed or
-- removed, so that readers may cache them.
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

-- data is the session's JSON as the ABI encodes it. The other columns serve lookups;
-- absent texts are NULL. recency is -updatedAt, so that list order (newest first,
-- then by key) is the ascending order of an index, and "after this row" is one
-- comparison of (recency, key). search contains the case-folded key, label,
-- displayName and subject.
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

-- Members of an imported session that a session does not have. They are in a separate
-- table because no list reads them.
CREATE TABLE session_extras (
    session INTEGER PRIMARY KEY REFERENCES sessions,
    extra   TEXT   NOT NULL
);

-- id is transcript_id * 2^32 + seq, where seq counts from 1 without gaps: the messages
-- of a transcript are adjacent and in order. ordinal is transcript_id * 2^32 + the
-- number of messages up to this one that are not tool results. So skipping any number
-- of messages, with or without tool results, is arithmetic. body is the message in
-- histories: the raw message, or its shortened form with the list of truncations in
-- cut.
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
