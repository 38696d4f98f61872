-- waiting_count: count the waiting jobs of a topic.
--
-- $1  topic
-- $2  the greatest id that counts
SELECT count(*) FROM outbox_jobs
WHERE topic = $1 AND id <= $2 AND done_at IS NULL AND parked_at IS NULL
