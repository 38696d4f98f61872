-- counts: a page of users, with what is counted of their follows and what the rows say. In
-- one statement: both change together, in the transactions of follows.
--
-- $1  id behind which the page begins
-- $2  most users
--
-- returns  id, followers counted, followees counted, followers, followees
SELECT u.id, u.follower_count, u.followee_count,
  (SELECT count(*) FROM follows AS f WHERE f.followee_id = u.id),
  (SELECT count(*) FROM follows AS f WHERE f.follower_id = u.id)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
