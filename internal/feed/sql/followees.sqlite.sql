-- followees: the followees of some users, and since when.
--
-- $1  a JSON array of the users' ids
--
-- returns  follower, followee, log number at the commit of the follow; ordered by both ids
SELECT f.follower_id, f.followee_id, f.since_seq
FROM json_each($1) AS u
JOIN follows AS f ON f.follower_id = u.value
ORDER BY f.follower_id, f.followee_id
