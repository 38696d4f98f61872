-- count_comments: a page of comments on notes that are not deleted, with their likes. In one statement: the count and the
-- rows change together.
--
-- $1  id behind which the page begins
-- $2  most comments
--
-- returns  id, likes as they are counted, likes as there are rows
SELECT c.id, c.like_count, (SELECT count(*) FROM likes AS l WHERE l.kind = 'COMMENT' AND l.target_id = c.id)
FROM comments AS c
JOIN notes AS n ON n.id = c.note_id AND n.deleted_at IS NULL
WHERE c.id > $1
ORDER BY c.id
LIMIT $2
