-- waiting: report whether a job of a topic waits or runs.
--
-- $1  topic
SELECT EXISTS (SELECT 1 FROM outbox_jobs WHERE topic = $1 AND done_at IS NULL AND parked_at IS NULL)
