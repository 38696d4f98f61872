-- followers: who follows users, the newest follower first.
--
-- $1  a JSON array of {of, below, most}: the followee, the id of a follow below which to
--     begin, and how many at most
--
-- returns  the followee, id of the follow, the follower
SELECT a."of", f.id, f.follower_id
FROM jsonb_to_recordset($1::jsonb) AS a ("of" bigint, below bigint, most bigint)
CROSS JOIN LATERAL (
  SELECT f.id, f.follower_id
  FROM follows AS f
  WHERE f.followee_id = a."of" AND f.id < a.below
  ORDER BY f.id DESC
  LIMIT a.most
) AS f
ORDER BY a."of", f.id DESC
