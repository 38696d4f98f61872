-- followees: whom some users follow, and since when.
--
-- $1  a JSON array of the users' ids
--
-- returns  follower, followee, the number of the log at the commit of the follow; in the
--          order of both
--
-- Each user's are read by themselves, by the index: a join would read all follows as soon as
-- the statistics of the moment make a hundred users, which the planner expects, look dear.
SELECT f.follower_id, f.followee_id, f.since_seq
FROM jsonb_array_elements_text($1::jsonb) AS u (id)
CROSS JOIN LATERAL (
  SELECT g.follower_id, g.followee_id, g.since_seq
  FROM follows AS g
  WHERE g.follower_id = u.id::bigint
  ORDER BY g.followee_id
) AS f
ORDER BY f.follower_id, f.followee_id
