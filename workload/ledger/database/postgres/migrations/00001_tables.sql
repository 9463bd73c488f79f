-- The ledger's tables, in the schema that the connection looks names up in.
-- Names of columns are those that users of the origin know; times have a zone.
-- Text is ordered as bytes, whatever the database's own order is.

-- +goose Up
CREATE TABLE accounts (
    account_id      text COLLATE "C" PRIMARY KEY,
    balance_tinybar bigint NOT NULL CHECK (balance_tinybar BETWEEN 0 AND 9007199254740991),
    updated_at      timestamptz NOT NULL
) WITH (fillfactor = 90); -- room for a changed row beside the old one: no index changes with it

CREATE TABLE transactions (
    position       bigint PRIMARY KEY CHECK (position > 0),
    tx_id          text COLLATE "C" NOT NULL,
    from_account   text COLLATE "C" NOT NULL,
    to_account     text COLLATE "C" NOT NULL CHECK (to_account <> from_account),
    amount_tinybar bigint NOT NULL CHECK (amount_tinybar BETWEEN 1 AND 9007199254740991),
    tx_type        text COLLATE "C" NOT NULL CHECK (octet_length(tx_type) <= 32),
    "timestamp"    timestamptz NOT NULL
);

-- One row once the data set is written, in the same step as the data set.
CREATE TABLE seeded (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    seed text NOT NULL
);
