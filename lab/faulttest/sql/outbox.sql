-- outbox counts unfinished outbox jobs.
--
-- It returns waiting jobs, parked jobs.
SELECT count(CASE WHEN done_at IS NULL AND parked_at IS NULL THEN 1 END), count(CASE WHEN parked_at IS NOT NULL THEN 1 END) FROM outbox_jobs
