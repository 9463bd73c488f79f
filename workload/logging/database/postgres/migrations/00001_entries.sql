-- The entries, in the schema that the connection looks names up in. Text is
-- ordered and compared as bytes, whatever the database's own order is; times
-- have a zone.

-- +goose Up
CREATE TABLE entries (
    position  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never given twice, also not after entries are removed
    id        text COLLATE "C" NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 64),
    name      text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
    data      text COLLATE "C" NOT NULL CHECK (octet_length(data) <= 524288),
    stored_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX entries_id ON entries (id);
CREATE INDEX entries_name ON entries (name, position);
CREATE INDEX entries_stored_at ON entries (stored_at, position);
