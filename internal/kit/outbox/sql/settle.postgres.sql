-- settle: write the results of attempts. A finished job is deleted, or retained so that it
-- can be replayed. A failed job is due again after a pause, or parked. An attempt that is
-- not the job's latest changes nothing.
--
-- $1  attempts, a JSON array of {id, tries, keep, failed, pause, counts, error}.
--     keep and pause are milliseconds. keep is the retention of a finished job, or the
--     time for which a failed one is parked. counts is 1 if the failure was the job's own
--     fault. Values that are 0, false or '' are missing.
--
-- The commit does not wait for the disk. After a crash of the server these jobs may be
-- unchanged, and run again. The statement does not change tries: a crash cannot make an
-- earlier attempt the latest again.
--
-- Like every statement that waits for locks of several rows, it locks them in the order of
-- their ids, so two of them cannot deadlock. The arrays of ids make the planner use the
-- index: it expects 100 rows of JSON and of a CTE.
WITH ended AS MATERIALIZED (
  SELECT j.id, coalesce(a.keep, 0) AS keep, coalesce(a.failed, false) AS failed,
    coalesce(a.pause, 0) AS pause, coalesce(a.counts, 0) AS counts, coalesce(a.error, '') AS error
  FROM (SELECT set_config('synchronous_commit', 'off', true) AS mode) AS async,
    jsonb_to_recordset($1::jsonb) AS a (id bigint, tries bigint, keep bigint, failed boolean, pause bigint, counts bigint, error text)
    JOIN outbox_jobs AS j ON a.id = j.id AND coalesce(a.tries, 0) = j.tries
  WHERE j.id = ANY (ARRAY(SELECT (item ->> 'id')::bigint FROM jsonb_array_elements($1::jsonb) AS items (item)))
    AND async.mode = 'off' AND j.done_at IS NULL AND (j.parked_at IS NULL OR a.failed IS NOT TRUE)
  ORDER BY j.id
  FOR UPDATE OF j
), gone AS (
  DELETE FROM outbox_jobs AS j WHERE j.id = ANY (ARRAY(SELECT id FROM ended WHERE NOT failed AND keep = 0))
)
UPDATE outbox_jobs AS j
SET done_at = CASE WHEN NOT ended.failed THEN clock.now END,
  due_at = CASE WHEN ended.failed THEN clock.now + ended.pause ELSE due_at END,
  failures = failures + ended.counts,
  last_error = CASE WHEN ended.failed THEN ended.error END,
  parked_at = CASE WHEN ended.failed AND ended.keep > 0 THEN clock.now END,
  keep_until = CASE WHEN ended.keep > 0 THEN clock.now + ended.keep END
FROM ended, (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now) AS clock
WHERE j.id = ended.id AND j.id = ANY (ARRAY(SELECT id FROM ended WHERE failed OR keep > 0)) AND (ended.failed OR ended.keep > 0)
