-- +goose Up
-- A result is one row of results and one of bodies. The body is the whole of
-- it, packed, and the truth; every other column and table is made from it in
-- the transaction that stores it, for whoever asks in SQL. Times are of wall
-- clocks, durations whole nanoseconds (_ns), shares 0 to 1, sizes bytes.
-- Rounds count from 1; arms and loads from 0, in the order of the plan.

CREATE TABLE wirelab_results.results (
  id         text COLLATE "C" PRIMARY KEY,
  schema     integer NOT NULL,               -- of the result's form
  name       text NOT NULL,                  -- the plan's or preset's; '' if it has none
  workload   text NOT NULL,
  operations text[] NOT NULL,
  protocols  text[] NOT NULL,
  arms       integer NOT NULL,
  loads      integer NOT NULL,
  rounds     integer NOT NULL,
  began      timestamptz NOT NULL,
  ended      timestamptz NOT NULL,
  ending     text NOT NULL,
  host       text NOT NULL,
  revision   text NOT NULL,                  -- of wirelab, when it measured
  command    text NOT NULL,
  seed       numeric(20) NOT NULL,
  self_test  boolean NOT NULL,               -- trials of wirelab itself
  bytes      bigint NOT NULL,                -- of the body
  digest     text NOT NULL,                  -- of the body's content
  stored     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX results_by_time ON wirelab_results.results (began DESC, id DESC);
CREATE INDEX results_by_workload ON wirelab_results.results (workload, began DESC, id DESC);
CREATE INDEX results_by_name ON wirelab_results.results (name, began DESC, id DESC);
CREATE INDEX results_by_host ON wirelab_results.results (host, began DESC, id DESC);
CREATE INDEX results_by_operation ON wirelab_results.results USING gin (operations);
CREATE INDEX results_by_protocol ON wirelab_results.results USING gin (protocols);

-- Apart, so that nothing that reads results ever reads past a body.
CREATE TABLE wirelab_results.bodies (
  result_id text COLLATE "C" PRIMARY KEY REFERENCES wirelab_results.results ON DELETE CASCADE,
  body      bytea NOT NULL                   -- gzip of JSON
);
ALTER TABLE wirelab_results.bodies ALTER COLUMN body SET STORAGE EXTERNAL;

-- The machine and the build.
CREATE TABLE wirelab_results.environments (
  result_id    text COLLATE "C" PRIMARY KEY REFERENCES wirelab_results.results ON DELETE CASCADE,
  host         text NOT NULL,
  os           text NOT NULL,
  kernel       text NOT NULL,
  cpu          text NOT NULL,
  cpus         integer NOT NULL,
  memory_bytes bigint NOT NULL,
  governor     text NOT NULL,
  clock_source text NOT NULL,
  virtual      text NOT NULL,
  go           text NOT NULL,
  revision     text NOT NULL,
  dirty        boolean NOT NULL,
  libraries    jsonb NOT NULL,               -- module to version
  settings     jsonb NOT NULL                -- GOMAXPROCS and the like, where set
);

CREATE TABLE wirelab_results.arms (
  result_id   text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  arm         integer NOT NULL,
  name        text NOT NULL,
  protocol    text NOT NULL,
  transport   text NOT NULL,
  framing     text NOT NULL,
  encoding    text NOT NULL,
  secure      boolean NOT NULL,
  multiplexed boolean NOT NULL,
  server      text NOT NULL,                 -- library
  client      text NOT NULL,                 -- library
  driver      text NOT NULL,                 -- 'client' or 'raw'
  style       text NOT NULL,
  data        text NOT NULL,
  database    text NOT NULL,                 -- '' is memory
  target      text NOT NULL,                 -- '' is a server of ours
  inject      text NOT NULL,
  connections integer NOT NULL,              -- asked for; 0: as the protocol has it
  out         text NOT NULL,                 -- why it was taken out; '' if it was not
  PRIMARY KEY (result_id, arm)
);
CREATE INDEX arms_by_protocol ON wirelab_results.arms (protocol);

CREATE TABLE wirelab_results.loads (
  result_id text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  load      integer NOT NULL,
  name      text NOT NULL,
  operation text NOT NULL,
  requests  text NOT NULL,
  open      boolean NOT NULL,                -- open loop
  in_flight integer NOT NULL,                -- closed loop: always; open: at most
  rate      double precision,                -- per second, in all; NULL in the closed loop
  arrivals  text NOT NULL,
  settings  jsonb NOT NULL,                  -- all of the plan's load
  PRIMARY KEY (result_id, load)
);

CREATE TABLE wirelab_results.rounds (
  result_id    text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  round        integer NOT NULL,
  began        timestamptz NOT NULL,
  steal        double precision,             -- noise: NULL where the kernel did not tell,
  others       double precision,             -- and in the rounds of a search for capacity
  cpu_pressure double precision,
  io_pressure  double precision,
  throttled_ns bigint,
  PRIMARY KEY (result_id, round)
);

CREATE TABLE wirelab_results.failures (      -- arms that did not get through a round
  result_id text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  round     integer NOT NULL,
  arm       integer NOT NULL,
  why       text NOT NULL,
  PRIMARY KEY (result_id, round, arm)
);

-- One arm under one load in one round. Its quantiles are of that round alone:
-- never average them, see runs and histograms.
CREATE TABLE wirelab_results.trials (
  result_id       text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  round           integer NOT NULL,
  arm             integer NOT NULL,
  load            integer NOT NULL,
  probe           integer NOT NULL,          -- of a search for capacity, from 1; else 0
  probe_rate      double precision,
  probe_outcome   text,
  steady          boolean NOT NULL,
  drifting        boolean NOT NULL,
  window_ns       bigint NOT NULL,
  planned         bigint NOT NULL,
  sent            bigint NOT NULL,
  ok              bigint NOT NULL,
  completed       bigint NOT NULL,           -- of ok, inside the window
  unsent          bigint NOT NULL,
  late            bigint NOT NULL,
  errors          jsonb NOT NULL,            -- code to count
  calls           bigint NOT NULL,           -- that CPU, allocations and bytes are to be divided by
  server_cpu_ns   bigint,                    -- NULL: a server of somebody else
  server_allocations bigint,
  server_resident_bytes bigint,
  driver_cpu_ns   bigint NOT NULL,
  driver_wall_ns  bigint NOT NULL,
  driver_allocations bigint NOT NULL,
  driver_resident_bytes bigint NOT NULL,
  wire_sent       bigint NOT NULL,
  wire_received   bigint NOT NULL,
  connections     bigint NOT NULL,           -- opened inside the window
  open_connections bigint NOT NULL,
  response_mean_ns double precision,         -- NULL where no call had the right reply
  response_p50_ns bigint,
  response_p90_ns bigint,
  response_p99_ns bigint,
  service_p50_ns  bigint,
  service_p99_ns  bigint,
  PRIMARY KEY (result_id, round, arm, load, probe)
);

-- One arm under one load, all rounds together. throughput and the times are
-- what wirelab reports, by the definitions of its report, and NULL where it
-- refuses to: refused says why.
CREATE TABLE wirelab_results.runs (
  id               bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  result_id        text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  arm              integer NOT NULL,
  load             integer NOT NULL,
  rounds           integer NOT NULL,         -- with a trial of it
  window_ns        bigint NOT NULL,
  planned          bigint NOT NULL,
  sent             bigint NOT NULL,
  ok               bigint NOT NULL,
  completed        bigint NOT NULL,
  unsent           bigint NOT NULL,
  errors           jsonb NOT NULL,
  throughput       double precision,         -- per second
  response_mean_ns double precision,
  response_p50_ns  double precision,
  response_p90_ns  double precision,
  response_p99_ns  double precision,
  response_p999_ns double precision,
  response_min_ns  bigint,
  response_max_ns  bigint,
  server_cpu_ns    bigint,
  driver_cpu_ns    bigint NOT NULL,
  driver_wall_ns   bigint NOT NULL,
  driver_resident_avg  double precision NOT NULL, -- bytes, of the rounds' ends
  driver_resident_peak bigint NOT NULL,
  refused          text,
  PRIMARY KEY (result_id, arm, load)
);

-- What wirelab says of every metric of a run, and how it differs from the
-- result's first arm. NULL is what it does not say; why tells the reason.
CREATE TABLE wirelab_results.figures (
  result_id  text COLLATE "C" NOT NULL,
  arm        integer NOT NULL,
  load       integer NOT NULL,
  metric     text NOT NULL,                  -- 'response-p99', 'server-cpu'
  dimension  text NOT NULL,                  -- 'time' is ns, 'size' bytes
  is_primary boolean NOT NULL,
  value      double precision,
  low        double precision,               -- of the interval
  high       double precision,
  rounds     integer NOT NULL,
  why        text,
  ratio      double precision,               -- to the first arm
  ratio_low  double precision,
  ratio_high double precision,
  verdict    text,                           -- 'better', 'worse', 'equivalent', 'inconclusive', …
  verdict_why text,
  PRIMARY KEY (result_id, arm, load, metric),
  FOREIGN KEY (result_id, arm, load) REFERENCES wirelab_results.runs (result_id, arm, load) ON DELETE CASCADE
);

-- What a search found: the highest rate at which an arm keeps the objective.
CREATE TABLE wirelab_results.capacities (
  result_id text COLLATE "C" NOT NULL REFERENCES wirelab_results.results ON DELETE CASCADE,
  arm       integer NOT NULL,
  objective text NOT NULL,
  kind      text NOT NULL,
  rate      double precision,                -- per second
  low       double precision,
  high      double precision,
  bound     double precision,
  why       text,
  PRIMARY KEY (result_id, arm)
);

-- All times of a run, every round of it, each to within 0.1 %: counts[i] of
-- them were low_ns[i] to high_ns[i], both inclusive, ascending.
CREATE TABLE wirelab_results.histograms (
  result_id text COLLATE "C" NOT NULL,
  arm       integer NOT NULL,
  load      integer NOT NULL,
  kind      text NOT NULL,                   -- 'response' from when a call or event was due, 'service' from when it was made or sent, 'lag' between, 'jitter' of streams
  count     bigint NOT NULL,
  mean_ns   double precision NOT NULL,
  low_ns    bigint[] NOT NULL,
  high_ns   bigint[] NOT NULL,
  counts    bigint[] NOT NULL,
  PRIMARY KEY (result_id, arm, load, kind),
  FOREIGN KEY (result_id, arm, load) REFERENCES wirelab_results.runs (result_id, arm, load) ON DELETE CASCADE
);

-- A draw without replacement from the calls of a run: see docs/results.md.
CREATE TABLE wirelab_results.reservoirs (
  result_id  text COLLATE "C" NOT NULL,
  arm        integer NOT NULL,
  load       integer NOT NULL,
  seed       numeric(20) NOT NULL,
  population bigint NOT NULL,                -- calls that it was drawn from
  rounds     integer[] NOT NULL,
  latency_ns bigint[] NOT NULL,              -- NULL for calls that failed
  errors     text[] NOT NULL,                -- NULL for those that did not
  PRIMARY KEY (result_id, arm, load),
  FOREIGN KEY (result_id, arm, load) REFERENCES wirelab_results.runs (result_id, arm, load) ON DELETE CASCADE
);

-- What experiments that run tell of themselves.
CREATE TABLE wirelab_results.running (
  id       text COLLATE "C" PRIMARY KEY,
  reported timestamptz NOT NULL,
  news     json NOT NULL,                    -- store.Running; json keeps its text as it is
  standing json                              -- store.Standing
);

-- +goose Down
DROP TABLE wirelab_results.running, wirelab_results.reservoirs, wirelab_results.histograms, wirelab_results.capacities,
  wirelab_results.figures, wirelab_results.runs, wirelab_results.trials, wirelab_results.failures, wirelab_results.rounds,
  wirelab_results.loads, wirelab_results.arms, wirelab_results.environments, wirelab_results.bodies, wirelab_results.results;
