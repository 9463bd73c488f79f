-- The digest of the result's JSON when it was put (result.Digest); empty for
-- results from before there were digests, of which nobody knows it.
ALTER TABLE results ADD COLUMN digest TEXT NOT NULL DEFAULT '';
