-- waiting: whether a job of a topic waits, or is being done.
--
-- $1  topic
SELECT EXISTS (SELECT 1 FROM outbox_jobs WHERE topic = $1 AND done_at IS NULL AND parked_at IS NULL)
