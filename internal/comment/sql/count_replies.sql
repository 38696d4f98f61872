-- count_replies: reads the stored and the actual reply counts of a page of comments. One
-- statement: see count_notes.
--
-- $1  id before the page
-- $2  maximum number of comments
--
-- returns  id, stored count, actual count
SELECT c.id, c.reply_count, (SELECT count(*) FROM comments AS r WHERE r.root_id = c.id AND r.root_id IS NOT NULL)
FROM comments AS c
WHERE c.id > $1
ORDER BY c.id
LIMIT $2
