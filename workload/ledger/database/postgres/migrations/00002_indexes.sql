-- What finds rows and what keeps them right. Made after the data set is
-- written, which takes a third of the time then.

-- +goose Up
CREATE UNIQUE INDEX transactions_tx_id ON transactions (tx_id);
CREATE INDEX transactions_from ON transactions (from_account, position);
CREATE INDEX transactions_to ON transactions (to_account, position);
CREATE INDEX transactions_timestamp ON transactions ("timestamp", position);
ALTER TABLE transactions
    ADD CONSTRAINT transactions_from_exists FOREIGN KEY (from_account) REFERENCES accounts,
    ADD CONSTRAINT transactions_to_exists FOREIGN KEY (to_account) REFERENCES accounts;
