-- count_replies: a page of comments, with the replies below them: none below a reply. In
-- one statement: see count_notes.
--
-- $1  id behind which the page begins
-- $2  most comments
--
-- returns  id, replies counted, replies there are
SELECT c.id, c.reply_count, (SELECT count(*) FROM comments AS r WHERE r.root_id = c.id AND r.root_id IS NOT NULL)
FROM comments AS c
WHERE c.id > $1
ORDER BY c.id
LIMIT $2
