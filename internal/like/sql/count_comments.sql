-- count_comments: a page of comments, with their likes. In one statement: the count and the
-- rows change together.
--
-- $1  id behind which the page begins
-- $2  most comments
--
-- returns  id, likes as they are counted, likes as there are rows
SELECT c.id, c.like_count, (SELECT count(*) FROM likes AS l WHERE l.kind = 'COMMENT' AND l.target_id = c.id)
FROM comments AS c
WHERE c.id > $1
ORDER BY c.id
LIMIT $2
