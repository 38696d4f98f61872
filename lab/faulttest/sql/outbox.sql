-- outbox: what is still to be done because of a transaction, and what was given up.
--
-- returns  jobs that wait, jobs that are parked
SELECT count(CASE WHEN done_at IS NULL AND parked_at IS NULL THEN 1 END), count(CASE WHEN parked_at IS NOT NULL THEN 1 END) FROM outbox_jobs
