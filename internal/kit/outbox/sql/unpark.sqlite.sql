-- unpark: make parked jobs due, as if they had never failed.
--
-- $1  topic, '' for all
UPDATE outbox_jobs
SET parked_at = NULL, keep_until = NULL, failures = 0, due_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE parked_at IS NOT NULL AND ($1 = '' OR topic = $1)
