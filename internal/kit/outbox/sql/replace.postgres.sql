-- replace: delete all waiting jobs of a topic, except those that another process is
-- claiming, ending or replacing.
--
-- $1  topic
WITH picked AS MATERIALIZED (
  SELECT id FROM outbox_jobs
  WHERE topic = $1::text AND done_at IS NULL AND parked_at IS NULL
  FOR UPDATE SKIP LOCKED
)
DELETE FROM outbox_jobs AS j USING picked WHERE j.id = picked.id
