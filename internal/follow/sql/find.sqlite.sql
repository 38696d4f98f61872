-- find: the follows that exist.
--
-- $1  a JSON array of [follower, followee]
--
-- returns  id, follower, followee
SELECT f.id, f.follower_id, f.followee_id
FROM json_each($1) AS a
JOIN follows AS f ON f.follower_id = a.value ->> 0 AND f.followee_id = a.value ->> 1
