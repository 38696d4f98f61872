-- add: insert jobs of one topic into the writer's transaction.
--
-- $1  topic
-- $2  payloads, a JSON array of strings, each of them JSON
-- $3  head start, milliseconds: no process claims the jobs before its end
--
-- returns  the id of each job
INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at)
SELECT $1::text, job.payload, 0, 0, clock.now, clock.now + $3::bigint
FROM (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock,
  json_array_elements_text($2::json) AS job (payload)
RETURNING id
