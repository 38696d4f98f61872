-- insert: store follows that are not there yet. Their ids grow in the order of the array.
--
-- $1  a JSON array of [follower, followee], 1 to 500, none of them with itself
-- $2  the head of the feed, which their transaction keeps until its end
-- $3  now, milliseconds
--
-- returns  id, follower, followee of each that was stored
INSERT INTO follows (follower_id, followee_id, since_seq, created_at)
SELECT a.value ->> 0, a.value ->> 1, $2, $3
FROM json_each($1) AS a
WHERE true
ORDER BY a.key
ON CONFLICT (follower_id, followee_id) DO NOTHING
RETURNING id, follower_id, followee_id
