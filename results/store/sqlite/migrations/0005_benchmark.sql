-- Results in the form of the ledger's first benchmark, for SQL that was written against it: a row for each arm under
-- each load, with the figures that the report has. Made from the body when it is put, and of results from before in
-- their turn; benchmarked says of which it was.
CREATE TABLE benchmarked (
  result_id TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE benchmarks (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  result_id      TEXT NOT NULL,
  arm            INTEGER NOT NULL,
  load           INTEGER NOT NULL,
  scenario       TEXT NOT NULL,
  protocol       TEXT NOT NULL,
  client         TEXT NOT NULL,
  concurrency    INTEGER NOT NULL,
  duration_sec   REAL NOT NULL,
  rate_limit     REAL,
  created_at     TEXT NOT NULL, -- UTC, as in 2026-11-21 14:05:12.123456
  total_samples  INTEGER NOT NULL,
  successful     INTEGER NOT NULL,
  throughput     REAL,
  p50_latency    REAL, -- milliseconds, as all below
  p90_latency    REAL,
  p99_latency    REAL,
  avg_latency    REAL,
  min_latency    REAL,
  max_latency    REAL,
  cpu_usage_avg  REAL,
  memory_mb_avg  REAL NOT NULL,
  memory_mb_peak REAL NOT NULL,
  refused        TEXT,
  arm_name       TEXT NOT NULL,
  load_name      TEXT NOT NULL,
  preset         TEXT NOT NULL,
  host           TEXT NOT NULL,
  wire           TEXT NOT NULL,
  library        TEXT NOT NULL,
  database       TEXT NOT NULL,
  seed           TEXT NOT NULL, -- an unsigned number
  population     INTEGER NOT NULL,
  begins         TEXT NOT NULL, -- JSON: when each round began
  drawn          TEXT NOT NULL, -- JSON: [round, nanoseconds or null, code of a failure] for each call
  UNIQUE (result_id, arm, load)
) STRICT;

CREATE TRIGGER benchmarks_end AFTER DELETE ON results BEGIN
  DELETE FROM benchmarks WHERE result_id = OLD.id;
  DELETE FROM benchmarked WHERE result_id = OLD.id;
END;

CREATE VIEW benchmark_runs AS
SELECT id, scenario, protocol, client, concurrency, duration_sec, rate_limit, created_at,
  cpu_usage_avg, memory_mb_avg, memory_mb_peak,
  result_id, arm, load, arm_name, load_name, preset, host, wire, library, database
FROM benchmarks;

CREATE VIEW benchmark_samples AS
SELECT b.id * 10000 + s.key + 1 AS id, b.id AS run_id,
  json_extract(s.value, '$[1]') / 1e6 AS latency_ms,
  json_extract(s.value, '$[2]') IS NULL AS success,
  json_extract(s.value, '$[2]') AS error_type,
  json_extract(b.begins, '$[' || (json_extract(s.value, '$[0]') - 1) || ']') AS "timestamp",
  json_extract(s.value, '$[0]') AS round, b.seed, b.population
FROM benchmarks b, json_each(b.drawn) s;

CREATE VIEW benchmark_stats AS
SELECT id AS run_id, scenario, protocol, client, concurrency, duration_sec, rate_limit,
  total_samples, successful, throughput,
  p50_latency AS p50_latency_ms, p90_latency AS p90_latency_ms, p99_latency AS p99_latency_ms,
  avg_latency AS avg_latency_ms, min_latency AS min_latency_ms, max_latency AS max_latency_ms,
  cpu_usage_avg, memory_mb_avg, memory_mb_peak, created_at,
  refused, result_id, arm_name, load_name, preset, host, wire, library, database,
  p50_latency, p90_latency, p99_latency, avg_latency, min_latency, max_latency
FROM benchmarks;
