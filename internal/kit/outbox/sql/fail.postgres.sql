-- fail: end attempts that failed. Each job is due again after a pause, or parked.
-- An attempt that is no longer the job's latest changes nothing.
--
-- $1  attempts, a JSON array of {id, tries, pause, counts, error, keep}: pause and
--     keep in milliseconds, counts 1 if the failure was the job's own fault, else
--     0, keep more than 0 to park the job, for so long at most
WITH ended AS MATERIALIZED (
  SELECT j.id, a.pause, a.counts, a.error, a.keep
  FROM outbox_jobs AS j
  JOIN jsonb_to_recordset($1::jsonb) AS a (id bigint, tries bigint, pause bigint, counts bigint, error text, keep bigint)
    ON a.id = j.id AND a.tries = j.tries
  WHERE j.done_at IS NULL AND j.parked_at IS NULL
  ORDER BY j.id
  FOR UPDATE OF j
)
UPDATE outbox_jobs AS j
SET due_at = clock.now + ended.pause, failures = failures + ended.counts, last_error = ended.error,
  parked_at = CASE WHEN ended.keep > 0 THEN clock.now END,
  keep_until = CASE WHEN ended.keep > 0 THEN clock.now + ended.keep END
FROM ended, (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock
WHERE j.id = ended.id
