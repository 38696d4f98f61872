-- count_comments: reads the stored and the actual likes of a page of comments on existing
-- notes. One statement, so that rows and counts are consistent.
--
-- $1  id before the page
-- $2  maximum number of comments
--
-- returns  id, stored count, actual count
SELECT c.id, c.like_count, (SELECT count(*) FROM likes AS l WHERE l.kind = 'COMMENT' AND l.target_id = c.id)
FROM comments AS c
JOIN notes AS n ON n.id = c.note_id AND n.deleted_at IS NULL
WHERE c.id > $1
ORDER BY c.id
LIMIT $2
