-- newest: return the greatest id of a job, 0 if there is none.
SELECT coalesce(max(id), 0) FROM outbox_jobs
