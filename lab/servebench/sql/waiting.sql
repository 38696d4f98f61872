-- waiting: count the outbox jobs that are not finished.
--
-- returns  count
SELECT count(*)
FROM outbox_jobs
WHERE done_at IS NULL AND parked_at IS NULL
