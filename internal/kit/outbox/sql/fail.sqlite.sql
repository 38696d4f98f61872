-- fail: end attempts that failed. Each job is due again after a pause, or parked.
-- An attempt that is no longer the job's latest changes nothing.
--
-- $1  attempts, a JSON array of {id, tries, pause, counts, error, keep}: pause and
--     keep in milliseconds, counts 1 if the failure was the job's own fault, else
--     0, keep more than 0 to park the job, for so long at most
UPDATE outbox_jobs
SET due_at = a.now + a.pause, failures = failures + a.counts, last_error = a.error,
  parked_at = CASE WHEN a.keep > 0 THEN a.now END,
  keep_until = CASE WHEN a.keep > 0 THEN a.now + a.keep END
FROM (
  SELECT value ->> 'id' AS id, value ->> 'tries' AS tries, value ->> 'pause' AS pause, value ->> 'counts' AS counts,
    value ->> 'error' AS error, value ->> 'keep' AS keep, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now
  FROM json_each($1)
) AS a
WHERE outbox_jobs.id = a.id AND outbox_jobs.tries = a.tries
  AND outbox_jobs.done_at IS NULL AND outbox_jobs.parked_at IS NULL
