CREATE TABLE entries (
  position INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice, also not after entries are removed; every index ends with it
  id       TEXT NOT NULL UNIQUE CHECK (octet_length(id) BETWEEN 1 AND 64),
  name     TEXT NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
  stored   INTEGER NOT NULL, -- microseconds since 1970, UTC; never less than the position before has
  data     TEXT NOT NULL CHECK (octet_length(data) <= 524288) -- last, since long ones are on other pages
) STRICT;

CREATE INDEX entries_by_name ON entries (name);
CREATE INDEX entries_by_time ON entries (stored);
