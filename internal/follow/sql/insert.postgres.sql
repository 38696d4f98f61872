-- insert: stores follows that do not exist yet. Their ids grow in the order of the array.
--
-- $1  a JSON array of [follower, followee], 1 to 500, without follows of oneself
-- $2  the feed head, locked by the transaction
-- $3  now, milliseconds
--
-- returns  id, follower, followee of each stored row
INSERT INTO follows (follower_id, followee_id, since_seq, created_at)
SELECT (a.pair ->> 0)::bigint, (a.pair ->> 1)::bigint, $2::bigint, $3::bigint
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS a (pair, nth)
ORDER BY a.nth
ON CONFLICT (follower_id, followee_id) DO NOTHING
RETURNING id, follower_id, followee_id
