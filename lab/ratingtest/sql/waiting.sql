-- waiting: count the outbox jobs that are not finished. Parked jobs count, because they never
-- will be.
--
-- returns  count
SELECT count(*)
FROM outbox_jobs
WHERE done_at IS NULL
