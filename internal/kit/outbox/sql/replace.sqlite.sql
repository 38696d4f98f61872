-- replace: delete all waiting jobs of a topic.
--
-- $1  topic
DELETE FROM outbox_jobs WHERE topic = $1 AND done_at IS NULL AND parked_at IS NULL
