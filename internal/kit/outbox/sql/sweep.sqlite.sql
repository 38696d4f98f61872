-- sweep: delete finished and parked jobs whose retention is over.
--
-- $1  maximum number of jobs
DELETE FROM outbox_jobs
WHERE id IN (
  SELECT id FROM outbox_jobs
  WHERE keep_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  ORDER BY keep_until
  LIMIT $1
)
