-- delete: end attempts that did their jobs, of jobs that are not kept. An attempt
-- that is no longer the job's latest changes nothing: the latest decides.
--
-- $1  attempts, a JSON array of {id, tries}
DELETE FROM outbox_jobs
WHERE done_at IS NULL
  AND (id, tries) IN (SELECT value ->> 'id', value ->> 'tries' FROM json_each($1))
