-- followers: the users that follow a user.
--
-- $1  the user
--
-- returns  user
SELECT follower_id
FROM follows
WHERE followee_id = $1
