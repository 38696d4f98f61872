-- orphans: a page of follows, with whether both of their users are there. A scalar subquery
-- probes the index for each follow; with EXISTS, Postgres reads all users for each page.
--
-- $1  id behind which the page begins
-- $2  most follows
--
-- returns  id, follower, followee, whether both are there
SELECT f.id, f.follower_id, f.followee_id,
  (SELECT u.id FROM users AS u WHERE u.id = f.follower_id) IS NOT NULL AND (SELECT u.id FROM users AS u WHERE u.id = f.followee_id) IS NOT NULL
FROM follows AS f
WHERE f.id > $1
ORDER BY f.id
LIMIT $2
