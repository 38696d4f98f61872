-- followees: whom some users follow, and since when.
--
-- $1  a JSON array of the users' ids
--
-- returns  follower, followee, the number of the log at the commit of the follow; in the
--          order of both
SELECT f.follower_id, f.followee_id, f.since_seq
FROM jsonb_array_elements_text($1::jsonb) AS u (id)
JOIN follows AS f ON f.follower_id = u.id::bigint
ORDER BY f.follower_id, f.followee_id
