-- stats: count the unfinished jobs.
--
-- returns  for each topic with such jobs, one or two rows: topic, waiting, pending (of
--          these, tried at least once), oldest (age of the oldest waiting job in
--          milliseconds), parked. The numbers of two rows add up.
SELECT topic, count(*), count(*) FILTER (WHERE tries > 0),
  greatest((extract(epoch FROM statement_timestamp()) * 1000)::bigint - min(created_at), 0), 0
FROM outbox_jobs WHERE done_at IS NULL AND parked_at IS NULL GROUP BY topic
UNION ALL
SELECT topic, 0, 0, 0, count(*) FROM outbox_jobs WHERE parked_at IS NOT NULL GROUP BY topic
