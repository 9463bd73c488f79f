-- +goose Up

-- The q-quantile of a histogram, as wirelab defines it everywhere: the upper
-- end of the bucket that holds the ⌈q·n⌉th smallest of n times; what is within
-- 1e-9 of a whole rank is taken as that rank. NULL without times.
-- +goose StatementBegin
CREATE FUNCTION wirelab_results.quantile(q double precision, high_ns bigint[], counts bigint[]) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT b.high
  FROM (SELECT u.high, sum(u.n) OVER (ORDER BY u.i) AS upto, sum(u.n) OVER () AS n
        FROM unnest(high_ns, counts) WITH ORDINALITY AS u(high, n, i)) AS b
  WHERE b.upto >= least(b.n, greatest(1, ceil(q * b.n::double precision - 1e-9 * greatest(1, q * b.n::double precision))::numeric))
  ORDER BY b.upto
  LIMIT 1
$$;
-- +goose StatementEnd

-- The origin's tables as views, for SQL that was written against them: a run
-- is one arm under one load. docs/results.md says what each column is.
CREATE VIEW wirelab_results.benchmark_runs AS
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
  100 * u.driver_cpu_ns / nullif(u.driver_wall_ns, 0)::double precision AS cpu_usage_avg,
  u.driver_resident_avg / 1048576 AS memory_mb_avg,
  u.driver_resident_peak / 1048576::double precision AS memory_mb_peak,
  u.result_id, u.arm, u.load, a.name AS arm_name, l.name AS load_name,
  r.name AS preset, r.host, a.protocol AS wire, a.client AS library, a.database
FROM wirelab_results.runs u
JOIN wirelab_results.results r ON r.id = u.result_id
JOIN wirelab_results.arms a ON a.result_id = u.result_id AND a.arm = u.arm
JOIN wirelab_results.loads l ON l.result_id = u.result_id AND l.load = u.load;

CREATE VIEW wirelab_results.benchmark_samples AS
SELECT u.id * 10000 + s.i AS id, u.id AS run_id,
  s.latency_ns / 1e6::double precision AS latency_ms,
  s.error IS NULL AS success,
  s.error AS error_type,
  d.began AS "timestamp",
  s.round, v.seed, v.population
FROM wirelab_results.reservoirs v
JOIN wirelab_results.runs u USING (result_id, arm, load)
CROSS JOIN LATERAL unnest(v.rounds, v.latency_ns, v.errors) WITH ORDINALITY AS s(round, latency_ns, error, i)
JOIN wirelab_results.rounds d ON d.result_id = v.result_id AND d.round = s.round;

CREATE VIEW wirelab_results.benchmark_stats AS
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
  u.refused, b.result_id, b.arm_name, b.load_name, b.preset, b.host, b.wire, b.library, b.database
FROM wirelab_results.benchmark_runs b
JOIN wirelab_results.runs u ON u.id = b.id;

-- The same under the names that the origin's SQL has, where names are looked
-- up first; unless something is called so there, or we may make nothing there.
-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  IF current_schema() IS NULL THEN
    RETURN;
  END IF;
  FOREACH name IN ARRAY ARRAY['benchmark_runs', 'benchmark_samples', 'benchmark_stats'] LOOP
    IF to_regclass(format('%I.%I', current_schema(), name)) IS NOT NULL THEN
      RETURN;
    END IF;
  END LOOP;
  FOREACH name IN ARRAY ARRAY['benchmark_runs', 'benchmark_samples', 'benchmark_stats'] LOOP
    EXECUTE format('CREATE VIEW %I.%I AS SELECT * FROM wirelab_results.%I', current_schema(), name, name);
  END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'no benchmark views in schema %: no right to make them', current_schema();
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP VIEW wirelab_results.benchmark_stats, wirelab_results.benchmark_samples, wirelab_results.benchmark_runs CASCADE;
DROP FUNCTION wirelab_results.quantile(double precision, bigint[], bigint[]);
