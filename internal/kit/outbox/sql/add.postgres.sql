-- add: insert one job into the writer's transaction, and have all who listen on
-- the channel woken when that commits: tandian_outbox, and in a schema other than public
-- one with its oid behind it. One statement, so one round trip.
--
-- $1  topic
-- $2  payload, JSON
-- $3  head start, milliseconds: nobody claims the job before
--
-- returns  the job's id
INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
SELECT $1::text, $2::text, 0, 0, clock.now, clock.now + $3::bigint
FROM (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock,
  pg_notify('tandian_outbox' || CASE current_schema() WHEN 'public' THEN ''
    ELSE '_' || (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) END, '')
RETURNING id
