-- claim: lease due jobs, those that have been due for the longest time. It skips jobs
-- that another process is claiming. It raises tries: the number identifies the attempt.
--
-- $1  topics, a JSON array: those with a handler in this process
-- $2  maximum number of jobs
-- $3  lease, milliseconds
--
-- returns  id, topic, payload, tries (with this one), failures; in no order
--
-- The files use statement_timestamp and not clock_timestamp: only a value that is stable
-- within a statement can limit an index scan.
WITH picked AS MATERIALIZED (
  SELECT id FROM outbox_jobs
  WHERE done_at IS NULL AND parked_at IS NULL
    AND due_at <= (extract(epoch FROM statement_timestamp()) * 1000)::bigint
    AND topic = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))
  ORDER BY due_at, id
  LIMIT $2
  FOR UPDATE SKIP LOCKED
)
UPDATE outbox_jobs AS j
SET due_at = (extract(epoch FROM statement_timestamp()) * 1000)::bigint + $3::bigint, tries = tries + 1
FROM picked WHERE j.id = picked.id
RETURNING j.id, j.topic, j.payload, j.tries, j.failures
