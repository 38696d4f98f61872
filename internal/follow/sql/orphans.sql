-- orphans: a page of follows, with whether both of their users are there.
--
-- $1  id behind which the page begins
-- $2  most follows
--
-- returns  id, follower, followee, whether both are there
SELECT f.id, f.follower_id, f.followee_id,
  EXISTS (SELECT 1 FROM users AS u WHERE u.id = f.follower_id) AND EXISTS (SELECT 1 FROM users AS u WHERE u.id = f.followee_id)
FROM follows AS f
WHERE f.id > $1
ORDER BY f.id
LIMIT $2
