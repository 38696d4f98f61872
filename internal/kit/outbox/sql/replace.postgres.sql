-- replace: delete all jobs of a topic that wait, but for those that somebody
-- else is about to take, end or replace: those have an owner.
--
-- $1  topic
WITH picked AS MATERIALIZED (
  SELECT id FROM outbox_jobs
  WHERE topic = $1::text AND done_at IS NULL AND parked_at IS NULL
  FOR UPDATE SKIP LOCKED
)
DELETE FROM outbox_jobs AS j USING picked WHERE j.id = picked.id
