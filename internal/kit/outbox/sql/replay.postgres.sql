-- replay: make the recently finished and the unfinished jobs of a topic due again. It
-- raises tries, so current attempts, which may have begun before the loss, cannot end jobs.
--
-- $1  topic
-- $2  how far back, milliseconds
WITH picked AS MATERIALIZED (
  SELECT id FROM outbox_jobs
  WHERE topic = $1::text AND parked_at IS NULL
    AND (done_at IS NULL OR done_at >= (extract(epoch FROM statement_timestamp()) * 1000)::bigint - $2::bigint)
  ORDER BY id
  FOR UPDATE
)
UPDATE outbox_jobs AS j
SET done_at = NULL, keep_until = NULL, tries = tries + 1,
  due_at = least(due_at, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)
FROM picked WHERE j.id = picked.id
