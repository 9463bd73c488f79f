-- +goose Up
-- What is kept beside results, and is no part of them: the name that somebody gave
-- one, and what lists say of it (a form of wirelab's own; made again where it is '').
ALTER TABLE wirelab_results.results ADD COLUMN label text NOT NULL DEFAULT '', ADD COLUMN finding text NOT NULL DEFAULT '';
CREATE INDEX results_label ON wirelab_results.results (label) WHERE label <> '';

-- +goose Down
ALTER TABLE wirelab_results.results DROP COLUMN label, DROP COLUMN finding;
