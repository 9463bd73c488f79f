-- Posts a transaction, or says why not, in one round trip.
--
-- Locks are taken in one order by everybody, so that two postings never wait
-- for each other: the accounts by id, then the log. The accounts' lock lets the
-- foreign keys of other postings through.
--
-- The log's lock is taken last and, like every lock, given back only when the
-- commit is on disk and visible to others. So positions have no gap, since the
-- next is one more than the last committed; and nobody sees position n+1 before
-- n, since n+1 is not even chosen before n is visible. It costs that postings
-- commit one after the other; a sequence would let them commit together, but
-- leave gaps where one is undone, and show n+1 before n. It is an advisory lock:
-- a row with the last position would be written once more for each posting.
--
-- Each statement sees what is committed when it begins, which is why the id is
-- looked for again under the lock.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION post_transaction(
    new_id text, payer text, payee text, moved bigint, kind text,
    OUT verdict text, OUT payer_holds bigint, OUT payee_holds bigint,
    OUT stored_from text, OUT stored_to text, OUT stored_amount bigint, OUT stored_type text, OUT stored_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
    account record;
    last_position bigint;
    last_at timestamptz;
BEGIN
    FOR again IN 0..1 LOOP
        SELECT t.from_account, t.to_account, t.amount_tinybar, t.tx_type, t."timestamp"
            INTO stored_from, stored_to, stored_amount, stored_type, stored_at
            FROM transactions t WHERE t.tx_id = new_id;
        IF FOUND THEN
            verdict := 'stored';
            RETURN;
        END IF;
        EXIT WHEN again = 1;

        FOR account IN
            SELECT a.account_id, a.balance_tinybar FROM accounts a
                WHERE a.account_id IN (payer, payee) ORDER BY a.account_id FOR NO KEY UPDATE
        LOOP
            IF account.account_id = payer THEN
                payer_holds := account.balance_tinybar;
            ELSE
                payee_holds := account.balance_tinybar;
            END IF;
        END LOOP;
        IF payer_holds IS NULL THEN
            verdict := 'no payer';
            RETURN;
        ELSIF payee_holds IS NULL THEN
            verdict := 'no payee';
            RETURN;
        END IF;

        -- The first number separates these from others' advisory locks.
        PERFORM pg_advisory_xact_lock(1818518887, 'transactions'::regclass::oid::integer);
    END LOOP;

    IF payer_holds < moved OR payee_holds > 9007199254740991 - moved THEN
        verdict := 'refused';
        RETURN;
    END IF;

    SELECT t.position, t."timestamp" INTO last_position, last_at
        FROM transactions t ORDER BY t.position DESC LIMIT 1;
    last_position := coalesce(last_position, 0) + 1;
    stored_at := greatest(clock_timestamp(), last_at);
    UPDATE accounts a SET balance_tinybar = a.balance_tinybar - moved, updated_at = stored_at WHERE a.account_id = payer;
    UPDATE accounts a SET balance_tinybar = a.balance_tinybar + moved, updated_at = stored_at WHERE a.account_id = payee;
    INSERT INTO transactions VALUES (last_position, new_id, payer, payee, moved, kind, stored_at);
    PERFORM pg_notify(current_schema(), last_position::text);
    verdict := 'done';
END
$$;
-- +goose StatementEnd
