-- end: write the results of the other attempts. A finished job stays, so that it can be
-- replayed. A failed job is due again after a pause, or parked. An attempt that is not the
-- job's latest changes nothing.
--
-- $1  attempts, a JSON array of {id, tries, keep, failed, pause, counts, error}.
--     keep and pause are milliseconds. keep is the retention of a finished job, or the
--     time for which a failed one is parked. counts is 1 if the failure was the job's own
--     fault. Values that are 0, false or '' are missing.
UPDATE outbox_jobs
SET done_at = CASE WHEN a.failed IS NULL THEN a.now END,
  due_at = CASE WHEN a.failed THEN a.now + coalesce(a.pause, 0) ELSE due_at END,
  failures = failures + coalesce(a.counts, 0),
  last_error = CASE WHEN a.failed THEN coalesce(a.error, '') END,
  parked_at = CASE WHEN a.failed AND a.keep IS NOT NULL THEN a.now END,
  keep_until = a.now + a.keep
FROM (
  SELECT value ->> 'id' AS id, coalesce(value ->> 'tries', 0) AS tries, value ->> 'keep' AS keep, value ->> 'failed' AS failed,
    value ->> 'pause' AS pause, value ->> 'counts' AS counts, value ->> 'error' AS error,
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now
  FROM json_each($1)
) AS a
WHERE outbox_jobs.id = a.id AND outbox_jobs.tries = a.tries AND outbox_jobs.done_at IS NULL
  AND CASE WHEN a.failed THEN outbox_jobs.parked_at IS NULL ELSE a.keep IS NOT NULL END
