-- claim: lease due jobs, those that have been due for the longest time. It raises tries:
-- the number identifies the attempt. The statement holds the write lock, so no job is
-- claimed twice.
--
-- $1  topics, a JSON array: those with a handler in this process
-- $2  maximum number of jobs
-- $3  lease, milliseconds
--
-- returns  id, topic, payload, tries (with this one), failures; in no order
UPDATE outbox_jobs
SET due_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + $3, tries = tries + 1
WHERE id IN (
  SELECT id FROM outbox_jobs
  WHERE done_at IS NULL AND parked_at IS NULL
    AND due_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
    AND topic IN (SELECT value FROM json_each($1))
  ORDER BY due_at, id
  LIMIT $2
)
RETURNING id, topic, payload, tries, failures
