-- followers: read the followers of a user.
--
-- $1  user
--
-- returns  user
SELECT follower_id
FROM follows
WHERE followee_id = $1
