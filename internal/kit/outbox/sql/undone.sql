-- undone: what jobs of a topic are to do that are not known to be done, parked ones too.
--
-- $1  topic
-- $2  how many at most
--
-- returns  payload
SELECT payload FROM outbox_jobs WHERE topic = $1 AND done_at IS NULL AND parked_at IS NULL
UNION ALL
SELECT payload FROM outbox_jobs WHERE topic = $1 AND parked_at IS NOT NULL
LIMIT $2
