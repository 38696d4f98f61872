-- delete: end attempts that did their jobs, of jobs that are not kept. An attempt
-- that is no longer the job's latest changes nothing: the latest decides.
--
-- $1  attempts, a JSON array of {id, tries}
--
-- Rows are locked in the order of their ids, as all statements over several do
-- that wait for locks: two of them cannot wait for each other.
WITH ended AS MATERIALIZED (
  SELECT j.id
  FROM outbox_jobs AS j
  JOIN jsonb_to_recordset($1::jsonb) AS a (id bigint, tries bigint) ON a.id = j.id AND a.tries = j.tries
  WHERE j.done_at IS NULL
  ORDER BY j.id
  FOR UPDATE OF j
)
DELETE FROM outbox_jobs AS j USING ended WHERE j.id = ended.id
