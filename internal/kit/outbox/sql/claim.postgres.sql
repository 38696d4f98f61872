-- claim: take jobs that are due for the time of a lease, those that have been
-- due the longest. Jobs that somebody else is taking are passed over. The try is
-- counted: its number is what names this attempt when it ends.
--
-- $1  topics, a JSON array: those that this process has handlers for
-- $2  how many at most
-- $3  lease, milliseconds
--
-- returns  id, topic, payload, tries (this one included), failures; in no order
--
-- statement_timestamp and not clock_timestamp, here and in the other files: only
-- what is stable within a statement can bound a walk over an index.
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
