-- newest: the greatest id that any job has, 0 if there is none.
SELECT coalesce(max(id), 0) FROM outbox_jobs
