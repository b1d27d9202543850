-- +goose Up

-- Modules of plugins, by the SHA-256 of their bytes in hexadecimal. data is what
-- is told of one, as JSON.
CREATE TABLE modules (
    seq    INTEGER PRIMARY KEY,
    digest TEXT    NOT NULL UNIQUE,
    data   TEXT    NOT NULL,
    wasm   BLOB    NOT NULL
);

-- Which module served when; the newest one is in force.
CREATE TABLE activations (
    seq  INTEGER PRIMARY KEY,
    data TEXT    NOT NULL
);

-- What can read the state of a flow: the module that wrote it, as an array of its
-- digest, the name of the plugin and the version of the state.
ALTER TABLE flows ADD COLUMN state_of TEXT NOT NULL DEFAULT '';

UPDATE flows SET state_of = json_array('', data ->> '$.plugin', coalesce(data -> '$.stateVersion', 0));

CREATE INDEX flows_by_state ON flows (state_of) WHERE ended_at IS NULL;
