-- Stores entries of different ids in one commit and round trip, those that are
-- not there yet, and tells for each: 0, it is stored now; 1, it was there; 2, its
-- id is there with another content.
--
-- The lock is taken first and, like every lock, given back only when the commit
-- is on disk and visible to others. So positions and times are in the order in
-- which entries become visible: nobody who reads pages of the newest misses one
-- that turns up later below, and a range of times is a range of positions. It
-- costs that commits of several loggers follow each other, each with all that
-- its logger gathered meanwhile. It is an advisory lock: one on the table would
-- hold up removing and the server's own cleaning.
--
-- Each statement sees what is committed when it begins, which is why what is
-- there is looked for under the lock. One that is there may be removed before
-- it is compared: then all that is missing is stored, and compared again.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION store_entries(new_ids text[], new_names text[], new_data text[]) RETURNS smallint[] LANGUAGE plpgsql AS $$
DECLARE
    last_position bigint;
    now_at timestamptz;
    stored bigint;
    verdicts smallint[];
BEGIN
    -- The first number separates these from others' advisory locks.
    PERFORM pg_advisory_xact_lock(1818518888, 'entries'::regclass::oid::integer);
    SELECT e.position, e.stored_at INTO last_position, now_at FROM entries e ORDER BY e.position DESC LIMIT 1;
    last_position := coalesce(last_position, 0);
    now_at := greatest(clock_timestamp(), now_at);
    LOOP
        INSERT INTO entries (id, name, data, stored_at)
            SELECT n.id, n.name, n.data, now_at
                FROM unnest(new_ids, new_names, new_data) WITH ORDINALITY AS n (id, name, data, place)
                WHERE NOT EXISTS (SELECT FROM entries e WHERE e.id = n.id)
                ORDER BY n.place
            ON CONFLICT (id) DO NOTHING; -- none, but of somebody who does without the lock
        GET DIAGNOSTICS stored = ROW_COUNT;
        IF stored = cardinality(new_ids) THEN
            RETURN array_fill(0::smallint, ARRAY[cardinality(new_ids)]);
        END IF;
        SELECT array_agg((SELECT CASE WHEN e.position > last_position THEN 0 WHEN e.name = n.name AND e.data = n.data THEN 1 ELSE 2 END
                FROM entries e WHERE e.id = n.id)::smallint ORDER BY n.place) INTO verdicts
            FROM unnest(new_ids, new_names, new_data) WITH ORDINALITY AS n (id, name, data, place);
        EXIT WHEN array_position(verdicts, NULL) IS NULL;
    END LOOP;
    RETURN verdicts;
END
$$;
-- +goose StatementEnd
