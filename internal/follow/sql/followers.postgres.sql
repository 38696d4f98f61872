-- followers: the followers of users, newest follow first.
--
-- $1  a JSON array of {of, below, most}: followee, id of a follow to begin below, and limit
--
-- returns  followee, id of the follow, follower
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
