-- orphans: a page of follows, and whether both of their users exist. A scalar subquery probes the
-- index for each follow; with EXISTS, Postgres reads all users for each page.
--
-- $1  id to begin after
-- $2  limit of follows
--
-- returns  id, follower, followee, whether both users exist
SELECT f.id, f.follower_id, f.followee_id,
  (SELECT u.id FROM users AS u WHERE u.id = f.follower_id) IS NOT NULL AND (SELECT u.id FROM users AS u WHERE u.id = f.followee_id) IS NOT NULL
FROM follows AS f
WHERE f.id > $1
ORDER BY f.id
LIMIT $2
