-- +goose Up

-- Modules of plugins, by the SHA-256 of their bytes in hexadecimal. data is the
-- description of a module as JSON, without its bytes.
CREATE TABLE modules (
    seq    INTEGER PRIMARY KEY,
    digest TEXT    NOT NULL UNIQUE,
    data   TEXT    NOT NULL,
    wasm   BLOB    NOT NULL
);

-- The history of active modules. The newest activation is in force.
CREATE TABLE activations (
    seq  INTEGER PRIMARY KEY,
    data TEXT    NOT NULL
);

-- The writer of a flow's state, as a JSON array of the module's digest, the plugin's
-- name and version, and the version of the state.
ALTER TABLE flows ADD COLUMN state_of TEXT NOT NULL DEFAULT '';

UPDATE flows SET state_of = json_array('', data ->> '$.plugin', coalesce(data -> '$.stateVersion', 0));

CREATE INDEX flows_by_state ON flows (state_of) WHERE ended_at IS NULL;
