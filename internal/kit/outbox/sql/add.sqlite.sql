-- add: insert jobs of one topic into the writer's transaction.
--
-- $1  topic
-- $2  payloads, a JSON array of strings, each of them JSON
-- $3  head start, milliseconds: no process claims the jobs before its end
--
-- returns  the id of each job
INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
SELECT $1, job.value, 0, 0, clock.now, clock.now + $3
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now) AS clock, json_each($2) AS job
RETURNING id
