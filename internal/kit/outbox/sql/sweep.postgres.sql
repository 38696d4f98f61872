-- sweep: delete finished and parked jobs whose retention is over.
--
-- $1  maximum number of jobs
WITH over AS MATERIALIZED (
  SELECT id FROM outbox_jobs
  WHERE keep_until < (extract(epoch FROM statement_timestamp()) * 1000)::bigint
  ORDER BY keep_until
  LIMIT $1
  FOR UPDATE SKIP LOCKED
)
DELETE FROM outbox_jobs AS j USING over WHERE j.id = over.id
