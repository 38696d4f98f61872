-- delete: delete finished jobs without a retention. An attempt that is not the job's
-- latest changes nothing.
--
-- $1  attempts, a JSON array: see end
DELETE FROM outbox_jobs
WHERE done_at IS NULL AND (id, tries) IN (
  SELECT value ->> 'id', coalesce(value ->> 'tries', 0) FROM json_each($1)
  WHERE value ->> 'failed' IS NULL AND value ->> 'keep' IS NULL
)
