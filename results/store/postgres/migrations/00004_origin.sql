-- +goose Up
-- The names that the origin's own SQL has beside ours: p50_latency and its like. And what its columns hold that the
-- report refuses is refused here too: the driver's CPU, and the times of drawn calls where the run's times are.
ALTER TABLE wirelab_results.runs
  ADD COLUMN cpu_refused boolean NOT NULL DEFAULT false,
  ADD COLUMN times_refused boolean NOT NULL DEFAULT false;

UPDATE wirelab_results.runs u SET
  cpu_refused = EXISTS (SELECT FROM wirelab_results.figures f
    WHERE (f.result_id, f.arm, f.load) = (u.result_id, u.arm, u.load) AND f.metric = 'client-cpu' AND f.value IS NULL),
  times_refused = EXISTS (SELECT FROM wirelab_results.figures f
    WHERE (f.result_id, f.arm, f.load) = (u.result_id, u.arm, u.load) AND f.metric IN ('response-p50', 'delivery-p50') AND f.value IS NULL);

CREATE OR REPLACE VIEW wirelab_results.benchmark_runs AS
SELECT u.id,
  CASE WHEN r.workload = 'ledger' AND l.operation = 'GetBalance' THEN 'balance'
       WHEN r.workload = 'ledger' AND l.operation = 'StreamTransactions' THEN 'stream'
       ELSE r.workload || '.' || l.operation END AS scenario,
  CASE WHEN r.workload = 'ledger' AND (a.protocol = 'http1-json' OR a.protocol = 'sse' AND l.operation = 'StreamTransactions') THEN 'rest'
       ELSE a.protocol END AS protocol,
  CASE WHEN a.driver = 'raw' THEN 'go-raw' ELSE 'go' END AS client,
  coalesce((l.settings ->> 'streams')::integer, l.in_flight) AS concurrency,
  u.window_ns / 1e9::double precision AS duration_sec,
  l.rate AS rate_limit,
  r.began AS created_at,
  CASE WHEN NOT u.cpu_refused THEN 100 * u.driver_cpu_ns / nullif(u.driver_wall_ns, 0)::double precision END AS cpu_usage_avg,
  u.driver_resident_avg / 1048576 AS memory_mb_avg,
  u.driver_resident_peak / 1048576::double precision AS memory_mb_peak,
  u.result_id, u.arm, u.load, a.name AS arm_name, l.name AS load_name,
  r.name AS preset, r.host, a.protocol AS wire, a.client AS library, a.database
FROM wirelab_results.runs u
JOIN wirelab_results.results r ON r.id = u.result_id
JOIN wirelab_results.arms a ON a.result_id = u.result_id AND a.arm = u.arm
JOIN wirelab_results.loads l ON l.result_id = u.result_id AND l.load = u.load;

CREATE OR REPLACE VIEW wirelab_results.benchmark_samples AS
SELECT u.id * 10000 + s.i AS id, u.id AS run_id,
  CASE WHEN NOT u.times_refused THEN s.latency_ns / 1e6::double precision END AS latency_ms,
  s.error IS NULL AS success,
  s.error AS error_type,
  d.began AS "timestamp",
  s.round, v.seed, v.population
FROM wirelab_results.reservoirs v
JOIN wirelab_results.runs u USING (result_id, arm, load)
CROSS JOIN LATERAL unnest(v.rounds, v.latency_ns, v.errors) WITH ORDINALITY AS s(round, latency_ns, error, i)
JOIN wirelab_results.rounds d ON d.result_id = v.result_id AND d.round = s.round;

CREATE OR REPLACE VIEW wirelab_results.benchmark_stats AS
SELECT b.id AS run_id, b.scenario, b.protocol, b.client, b.concurrency, b.duration_sec, b.rate_limit,
  u.sent AS total_samples, u.ok AS successful,
  u.throughput,
  u.response_p50_ns / 1e6 AS p50_latency_ms,
  u.response_p90_ns / 1e6 AS p90_latency_ms,
  u.response_p99_ns / 1e6 AS p99_latency_ms,
  u.response_mean_ns / 1e6 AS avg_latency_ms,
  u.response_min_ns / 1e6::double precision AS min_latency_ms,
  u.response_max_ns / 1e6::double precision AS max_latency_ms,
  b.cpu_usage_avg, b.memory_mb_avg, b.memory_mb_peak, b.created_at,
  u.refused, b.result_id, b.arm_name, b.load_name, b.preset, b.host, b.wire, b.library, b.database,
  u.response_p50_ns / 1e6 AS p50_latency,
  u.response_p90_ns / 1e6 AS p90_latency,
  u.response_p99_ns / 1e6 AS p99_latency,
  u.response_mean_ns / 1e6 AS avg_latency,
  u.response_min_ns / 1e6::double precision AS min_latency,
  u.response_max_ns / 1e6::double precision AS max_latency
FROM wirelab_results.benchmark_runs b
JOIN wirelab_results.runs u ON u.id = b.id;

-- The same where they have their names without the schema: those views that are ours, wherever they were made.
-- +goose StatementBegin
DO $$
DECLARE
  place name;
BEGIN
  FOR place IN SELECT DISTINCT n.nspname FROM pg_depend d
    JOIN pg_rewrite w ON w.oid = d.objid
    JOIN pg_class c ON c.oid = w.ev_class
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = 'wirelab_results.benchmark_stats'::regclass
      AND c.relname = 'benchmark_stats' AND n.nspname <> 'wirelab_results'
  LOOP
    BEGIN
      EXECUTE format('CREATE OR REPLACE VIEW %I.benchmark_stats AS SELECT * FROM wirelab_results.benchmark_stats', place);
    EXCEPTION WHEN insufficient_privilege OR invalid_table_definition THEN -- somebody else's, or changed
      RAISE NOTICE 'the view benchmark_stats in schema % stays as it was: %', place, SQLERRM;
    END;
  END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP VIEW wirelab_results.benchmark_stats, wirelab_results.benchmark_samples, wirelab_results.benchmark_runs CASCADE;
ALTER TABLE wirelab_results.runs DROP COLUMN cpu_refused, DROP COLUMN times_refused;
