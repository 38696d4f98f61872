-- find: the follows that exist.
--
-- $1  a JSON array of [follower, followee]
--
-- returns  id, follower, followee
SELECT f.id, f.follower_id, f.followee_id
FROM json_array_elements($1) AS a (pair)
JOIN follows AS f ON f.follower_id = (a.pair ->> 0)::bigint AND f.followee_id = (a.pair ->> 1)::bigint
