-- keep: end attempts that did their jobs, of jobs that are kept to be repeated.
-- An attempt that is no longer the job's latest changes nothing.
--
-- $1  attempts, a JSON array of {id, tries, keep}; keep in milliseconds
UPDATE outbox_jobs
SET done_at = a.now, keep_until = a.now + a.keep, parked_at = NULL, last_error = NULL
FROM (
  SELECT value ->> 'id' AS id, value ->> 'tries' AS tries, value ->> 'keep' AS keep,
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now
  FROM json_each($1)
) AS a
WHERE outbox_jobs.id = a.id AND outbox_jobs.tries = a.tries AND outbox_jobs.done_at IS NULL
