-- One row for each result: the body is all of it, packed; the columns are
-- what lists need, and can be made again from the body.
CREATE TABLE results (
  id        TEXT PRIMARY KEY NOT NULL,
  schema    INTEGER NOT NULL,
  name      TEXT NOT NULL,
  workload  TEXT NOT NULL,
  operation TEXT NOT NULL,
  protocols TEXT NOT NULL, -- " grpc connect ", a space on both sides of each
  arms      INTEGER NOT NULL,
  loads     INTEGER NOT NULL,
  rounds    INTEGER NOT NULL,
  began     INTEGER NOT NULL, -- microseconds since 1970, UTC
  ended     INTEGER NOT NULL,
  ending    TEXT NOT NULL,
  host      TEXT NOT NULL,
  revision  TEXT NOT NULL, -- "commit" is a word of SQL
  body      BLOB NOT NULL
) STRICT;

CREATE INDEX results_by_time ON results (began DESC, id DESC);
