-- unfinished_counts: count the waiting jobs, by topic.
--
-- $1  the greatest id that counts
--
-- returns  topic, count
SELECT topic, count(*) FROM outbox_jobs
WHERE id <= $1 AND done_at IS NULL AND parked_at IS NULL GROUP BY topic
