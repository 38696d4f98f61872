-- stats: sum up the jobs that are not done.
--
-- returns  for each topic that has any, once or twice: topic, waiting, pending (of
--          these, tried at least once), oldest (milliseconds since the oldest
--          waiting one was added), parked. The figures of two rows add up.
SELECT topic, count(*), count(*) FILTER (WHERE tries > 0),
  max(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - min(created_at), 0), 0
FROM outbox_jobs WHERE done_at IS NULL AND parked_at IS NULL GROUP BY topic
UNION ALL
SELECT topic, 0, 0, 0, count(*) FROM outbox_jobs WHERE parked_at IS NOT NULL GROUP BY topic
