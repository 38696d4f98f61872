-- keep: end attempts that did their jobs, of jobs that are kept to be repeated.
-- An attempt that is no longer the job's latest changes nothing.
--
-- $1  attempts, a JSON array of {id, tries, keep}; keep in milliseconds
WITH ended AS MATERIALIZED (
  SELECT j.id, a.keep
  FROM outbox_jobs AS j
  JOIN jsonb_to_recordset($1::jsonb) AS a (id bigint, tries bigint, keep bigint) ON a.id = j.id AND a.tries = j.tries
  WHERE j.done_at IS NULL
  ORDER BY j.id
  FOR UPDATE OF j
)
UPDATE outbox_jobs AS j
SET done_at = clock.now, keep_until = clock.now + ended.keep, parked_at = NULL, last_error = NULL
FROM ended, (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock
WHERE j.id = ended.id
