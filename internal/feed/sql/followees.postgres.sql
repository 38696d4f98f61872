-- followees: the followees of some users, and since when.
--
-- $1  a JSON array of the users' ids
--
-- returns  follower, followee, log number at the commit of the follow; ordered by both ids
--
-- The lateral join reads each user's follows by the index. With a plain join, current statistics
-- can make the hundred users that the planner expects look expensive, so it reads all follows.
SELECT f.follower_id, f.followee_id, f.since_seq
FROM jsonb_array_elements_text($1::jsonb) AS u (id)
CROSS JOIN LATERAL (
  SELECT g.follower_id, g.followee_id, g.since_seq
  FROM follows AS g
  WHERE g.follower_id = u.id::bigint
  ORDER BY g.followee_id
) AS f
ORDER BY f.follower_id, f.followee_id
