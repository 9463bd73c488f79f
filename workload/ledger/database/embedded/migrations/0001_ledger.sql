-- Written with the number of the set's seed once all of it is there.
CREATE TABLE seed (
  only INTEGER PRIMARY KEY NOT NULL CHECK (only = 1),
  seed TEXT NOT NULL
) STRICT;

-- Without row ids, a balance is one search in one tree.
CREATE TABLE accounts (
  id      TEXT PRIMARY KEY NOT NULL,
  amount  INTEGER NOT NULL CHECK (amount BETWEEN 0 AND 9007199254740991),
  updated INTEGER NOT NULL -- microseconds since 1970, UTC
) STRICT, WITHOUT ROWID;

CREATE TABLE transactions (
  position INTEGER PRIMARY KEY NOT NULL, -- from 1 without a gap; every index ends with it
  id       TEXT NOT NULL UNIQUE,
  payer    TEXT NOT NULL REFERENCES accounts (id),
  payee    TEXT NOT NULL REFERENCES accounts (id),
  amount   INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  kind     TEXT NOT NULL,
  posted   INTEGER NOT NULL, -- microseconds since 1970, UTC
  CHECK (payer <> payee)
) STRICT;

CREATE INDEX transactions_by_payer ON transactions (payer);
CREATE INDEX transactions_by_payee ON transactions (payee);
CREATE INDEX transactions_by_time ON transactions (posted);
