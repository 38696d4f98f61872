-- unpark: make parked jobs due, as if they had never failed.
--
-- $1  topic, '' for all
WITH picked AS MATERIALIZED (
  SELECT id FROM outbox_jobs
  WHERE parked_at IS NOT NULL AND ($1::text = '' OR topic = $1::text)
  ORDER BY id
  FOR UPDATE
)
UPDATE outbox_jobs AS j
SET parked_at = NULL, keep_until = NULL, failures = 0, due_at = (extract(epoch FROM statement_timestamp()) * 1000)::bigint
FROM picked WHERE j.id = picked.id
