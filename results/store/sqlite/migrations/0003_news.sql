-- What experiments that run tell of themselves: one row for each.
CREATE TABLE running (
  id       TEXT PRIMARY KEY NOT NULL,
  reported INTEGER NOT NULL, -- microseconds since 1970, UTC
  body     TEXT NOT NULL,    -- store.Running as JSON
  standing TEXT              -- store.Standing as JSON
) STRICT;

-- Everything that lists show, in their order, so that no list touches a body:
-- whatever the filter, it reads some 200 bytes for each result it looks at.
CREATE INDEX results_listed ON results (began DESC, id DESC, name, workload, operation, protocols, host,
  arms, loads, rounds, ended, ending, revision, length(body));
DROP INDEX results_by_time;
