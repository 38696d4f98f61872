-- lock_comments: locks comments, in id order.
--
-- $1  comment ids
--
-- returns  comment, likes
SELECT id, like_count
FROM comments
WHERE id = ANY($1)
ORDER BY id
FOR UPDATE
