-- lock_comments: lock comments, in the order of their ids.
--
-- $1  their ids
--
-- returns  comment, likes
SELECT id, like_count
FROM comments
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
