-- sweep: delete jobs, done or parked, whose time to be kept is over.
--
-- $1  how many at most
DELETE FROM outbox_jobs
WHERE id IN (
  SELECT id FROM outbox_jobs
  WHERE keep_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  ORDER BY keep_until
  LIMIT $1
)
