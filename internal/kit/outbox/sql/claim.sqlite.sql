-- claim: take jobs that are due for the time of a lease, those that have been
-- due the longest. The try is counted: its number is what names this attempt
-- when it ends. The statement holds the write lock, so no job is taken twice.
--
-- $1  topics, a JSON array: those that this process has handlers for
-- $2  how many at most
-- $3  lease, milliseconds
--
-- returns  id, topic, payload, tries (this one included), failures; in no order
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
