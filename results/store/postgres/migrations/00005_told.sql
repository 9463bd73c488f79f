-- +goose Up
-- Of calls that another load generator made some things are not known: it does not tell them. They are NULL, which is
-- not the same as none.
ALTER TABLE wirelab_results.trials
  ALTER COLUMN steady DROP NOT NULL,
  ALTER COLUMN drifting DROP NOT NULL,
  ALTER COLUMN planned DROP NOT NULL,
  ALTER COLUMN unsent DROP NOT NULL,
  ALTER COLUMN late DROP NOT NULL,
  ALTER COLUMN driver_allocations DROP NOT NULL,
  ALTER COLUMN wire_sent DROP NOT NULL,
  ALTER COLUMN wire_received DROP NOT NULL,
  ALTER COLUMN connections DROP NOT NULL,
  ALTER COLUMN open_connections DROP NOT NULL;
ALTER TABLE wirelab_results.runs
  ALTER COLUMN planned DROP NOT NULL,
  ALTER COLUMN unsent DROP NOT NULL;
UPDATE wirelab_results.trials t SET steady = NULL, drifting = NULL, planned = NULL, unsent = NULL, late = NULL,
  driver_allocations = NULL, wire_sent = NULL, wire_received = NULL, connections = NULL, open_connections = NULL
FROM wirelab_results.arms a WHERE a.result_id = t.result_id AND a.arm = t.arm AND a.driver LIKE 'tool:%';
UPDATE wirelab_results.runs u SET planned = NULL, unsent = NULL
FROM wirelab_results.arms a WHERE a.result_id = u.result_id AND a.arm = u.arm AND a.driver LIKE 'tool:%';

-- +goose Down
UPDATE wirelab_results.trials SET steady = coalesce(steady, false), drifting = coalesce(drifting, false),
  planned = coalesce(planned, 0), unsent = coalesce(unsent, 0), late = coalesce(late, 0),
  driver_allocations = coalesce(driver_allocations, 0), wire_sent = coalesce(wire_sent, 0),
  wire_received = coalesce(wire_received, 0), connections = coalesce(connections, 0),
  open_connections = coalesce(open_connections, 0);
UPDATE wirelab_results.runs SET planned = coalesce(planned, 0), unsent = coalesce(unsent, 0);
ALTER TABLE wirelab_results.runs
  ALTER COLUMN planned SET NOT NULL,
  ALTER COLUMN unsent SET NOT NULL;
ALTER TABLE wirelab_results.trials
  ALTER COLUMN steady SET NOT NULL,
  ALTER COLUMN drifting SET NOT NULL,
  ALTER COLUMN planned SET NOT NULL,
  ALTER COLUMN unsent SET NOT NULL,
  ALTER COLUMN late SET NOT NULL,
  ALTER COLUMN driver_allocations SET NOT NULL,
  ALTER COLUMN wire_sent SET NOT NULL,
  ALTER COLUMN wire_received SET NOT NULL,
  ALTER COLUMN connections SET NOT NULL,
  ALTER COLUMN open_connections SET NOT NULL;
