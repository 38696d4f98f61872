-- add: insert one job into the writer's transaction.
--
-- $1  topic
-- $2  payload, JSON
-- $3  head start, milliseconds: nobody claims the job before
--
-- returns  the job's id
INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
SELECT $1, $2, 0, 0, clock.now, clock.now + $3
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now) AS clock
RETURNING id
