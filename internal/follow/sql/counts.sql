-- counts: a page of users, with their counts and those of the rows. One statement reads both,
-- since the transactions of follows change them together.
--
-- $1  id to begin after
-- $2  limit of users
--
-- returns  id, follower count, followee count, followers, followees
SELECT u.id, u.follower_count, u.followee_count,
  (SELECT count(*) FROM follows AS f WHERE f.followee_id = u.id),
  (SELECT count(*) FROM follows AS f WHERE f.follower_id = u.id)
FROM users AS u
WHERE u.id > $1
ORDER BY u.id
LIMIT $2
