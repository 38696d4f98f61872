-- lock_counts: lock users, in the order of their ids.
--
-- $1  their ids
--
-- returns  user, followers, followees, notes
SELECT id, follower_count, followee_count, note_count
FROM users
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
