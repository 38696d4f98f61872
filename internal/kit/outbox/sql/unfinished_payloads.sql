-- unfinished_payloads: return the payloads of the unfinished jobs of a topic, also of parked ones.
--
-- $1  topic
-- $2  maximum number of jobs
--
-- returns  payload
SELECT payload FROM outbox_jobs WHERE topic = $1 AND done_at IS NULL AND parked_at IS NULL
UNION ALL
SELECT payload FROM outbox_jobs WHERE topic = $1 AND parked_at IS NOT NULL
LIMIT $2
