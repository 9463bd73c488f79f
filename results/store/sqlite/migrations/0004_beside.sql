-- What is kept beside results, and is no part of them: the names that people
-- gave them, and what lists say of them, which is made again where it is not here.
-- In a table of its own, so that no body is written again for a name.
CREATE TABLE beside (
  result_id TEXT PRIMARY KEY NOT NULL,
  label     TEXT NOT NULL DEFAULT '',
  finding   TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX beside_label ON beside (label) WHERE label <> '';
