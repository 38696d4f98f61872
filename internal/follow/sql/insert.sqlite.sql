-- insert: stores follows that do not exist yet. Their ids grow in the order of the array.
--
-- $1  a JSON array of [follower, followee], 1 to 500, without follows of oneself
-- $2  the feed head, locked by the transaction
-- $3  now, milliseconds
--
-- returns  id, follower, followee of each stored row
INSERT INTO follows (follower_id, followee_id, since_seq, created_at)
SELECT a.value ->> 0, a.value ->> 1, $2, $3
FROM json_each($1) AS a
WHERE true
ORDER BY a.key
ON CONFLICT (follower_id, followee_id) DO NOTHING
RETURNING id, follower_id, followee_id
